import type { ClientTool } from '../../agents/turn/input.ts';

/**
 * A tool of the format that the client runs and declares by its type alone, such as `bash_20250124`: the models of its
 * vendor know what it takes, others are given a description. Undefined: no such type.
 */
export function toBuiltInTool(type: string, given: Record<string, unknown>): ClientTool | undefined {
  const family = Object.keys(FAMILIES).find((name) => type.startsWith(`${name}_2`));
  if (family === undefined) return undefined;
  const { name, description, parameters } = FAMILIES[family]?.(given) ?? {};
  const { name: own } = given;
  return {
    name: typeof own === 'string' && own !== '' ? own : String(name),
    description: String(description),
    parameters: parameters ?? {},
  };
}

// --- internal ---

type Family = (given: Record<string, unknown>) => ClientTool;

const text = (description: string) => ({ type: 'string', description });
const path = text('Absolute path of the file or folder');
const range = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };
const point = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };

function objectOf(properties: Record<string, object>, required: string[]): Record<string, unknown> {
  return { type: 'object', properties, required };
}

const FAMILIES: Record<string, Family> = {
  bash: () => ({
    name: 'bash',
    description: 'Runs a command in a shell that stays open between calls, and answers what it printed.',
    parameters: objectOf(
      {
        command: text('The command to run; needed unless the shell is restarted'),
        restart: { type: 'boolean', description: 'Restart the shell' },
      },
      [],
    ),
  }),
  text_editor: () => ({
    name: 'str_replace_based_edit_tool',
    description:
      'Reads and edits text files: `view` a file or folder, `create` a file, `str_replace` a text that occurs once, ' +
      '`insert` a text behind a line.',
    parameters: objectOf(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
        path,
        view_range: { ...range, description: 'First and last line to view, from 1; -1 is the end' },
        file_text: text('The content, for `create`'),
        old_str: text('The text to replace, for `str_replace`'),
        new_str: text('The text to put there, for `str_replace`; the text, for older versions of `insert`'),
        insert_line: { type: 'integer', description: 'The line to insert behind; 0 is the beginning' },
        insert_text: text('The text to insert, for `insert`'),
      },
      ['command', 'path'],
    ),
  }),
  computer: ({ display_width_px: width, display_height_px: height }) => ({
    name: 'computer',
    description:
      'Uses the mouse, the keyboard and the screen of a computer' +
      (Number.isInteger(width) && Number.isInteger(height) ? `, of ${String(width)} by ${String(height)} pixels` : '') +
      '. Take a screenshot to see what an action has done.',
    parameters: objectOf(
      {
        action: {
          type: 'string',
          enum: [
            'key',
            'hold_key',
            'type',
            'cursor_position',
            'mouse_move',
            'left_mouse_down',
            'left_mouse_up',
            'left_click',
            'left_click_drag',
            'right_click',
            'middle_click',
            'double_click',
            'triple_click',
            'scroll',
            'wait',
            'screenshot',
            'zoom',
          ],
        },
        coordinate: { ...point, description: 'x and y in pixels from the upper left corner' },
        start_coordinate: { ...point, description: 'Where a drag begins' },
        text: text('What to type, or the keys to press'),
        scroll_direction: { type: 'string', enum: ['up', 'down', 'left', 'right'] },
        scroll_amount: { type: 'integer', description: 'Clicks of the wheel' },
        duration: { type: 'number', description: 'Seconds, for `wait` and `hold_key`' },
        region: { type: 'array', items: { type: 'integer' }, minItems: 4, maxItems: 4, description: 'For `zoom`' },
      },
      ['action'],
    ),
  }),
  memory: () => ({
    name: 'memory',
    description: 'Keeps notes in files below /memories: look there first, and write down what is worth knowing later.',
    parameters: objectOf(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
        path,
        view_range: range,
        file_text: text('The content, for `create`'),
        old_str: text('The text to replace'),
        new_str: text('The text to put there'),
        insert_line: { type: 'integer', description: 'The line to insert behind' },
        insert_text: text('The text to insert'),
        old_path: text('The file to rename'),
        new_path: text('Its new path'),
      },
      ['command'],
    ),
  }),
};
