import { parseSkill } from '../agent-texts.ts';
import type { Scan, ScannedAgent } from '../scan.ts';
import type { FoundIn } from './frame.ts';

/** Skills a model could not choose, or not distinguish. */
export function checkSkills({ agents }: Scan): FoundIn[] {
  return agents.flatMap(checkAgent);
}

// --- internal ---

function checkAgent({ texts }: ScannedAgent): FoundIn[] {
  const owners = new Map<string, string>();
  return texts.skills.flatMap((text): FoundIn[] => {
    const { skill, wrong } = parseSkill(text);
    const other = skill && owners.get(skill.name);
    if (skill) owners.set(skill.name, other ?? text.file);
    const message = other === undefined ? wrong : `"${other}" has the name "${skill?.name}" too. Rename one of them.`;
    return message === undefined ? [] : [{ code: 'skill_invalid', message, file: text.file, line: 1, column: 1 }];
  });
}
