/** The reserved agent, built in or of the workspace. */
export const COPILOT_AGENT = 'studio-copilot';
/** Its tool that waits for the person. */
export const CONFIRM_TOOL = 'confirm_operation';
