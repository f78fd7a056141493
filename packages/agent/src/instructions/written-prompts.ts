import { messageOf } from '@halting/core/adapters'
import type { RulePermissions } from '@halting/policy'
import type { Workspace } from '../tools/workspace.ts'
import type { WrittenPrompt } from './commands.ts'
import { expanded, type Expanded, headOffer } from './expand-prompt.ts'
import type { BriefingTrust } from './offers.ts'
import { type Bringing, runWritten } from './run-written.ts'

interface ExpandingOptions {
  readonly workspace: Workspace
  readonly permissions: RulePermissions
  /** Returns why a command must not run; undefined if nothing refuses it. */
  readonly guard?: (command: string) => Promise<string | undefined>
}

/** The expanded text of a command or skill. Its rules apply from here on. */
export async function expandWritten(
  prompt: WrittenPrompt,
  given: string,
  trust: BriefingTrust,
  { workspace, permissions, guard }: ExpandingOptions,
  who: Bringing,
): Promise<Expanded> {
  const notes: string[] = []
  for (const rule of prompt.allowedTools) {
    if (!(await lets(prompt, 'allowed-tools', rule, trust))) {
      notes.push(waiting(prompt, `allowed-tools: ${rule}`))
      continue
    }
    try {
      permissions.addRules('allow', [rule])
    } catch (thrown) {
      notes.push(`allowed-tools in ${prompt.path}: ${messageOf(thrown)}`)
    }
  }
  const made = await expanded(prompt, given, { trust, run: runWritten(workspace, permissions, who, guard) })
  return { ...made, notes: [...notes, ...made.notes] }
}

/** The model of a command, if it is trusted. */
export async function modelOfWritten(
  prompt: WrittenPrompt,
  trust: BriefingTrust,
  notes: string[],
): Promise<string | undefined> {
  const { model } = prompt
  if (model === '' || model === 'inherit') return undefined
  if (await lets(prompt, 'model', model, trust)) return model
  notes.push(waiting(prompt, `model: ${model}`))
  return undefined
}

async function lets(
  prompt: WrittenPrompt,
  field: 'allowed-tools' | 'model',
  value: string,
  trust: BriefingTrust,
): Promise<boolean> {
  return prompt.level !== 'project' || trust.lets(headOffer(prompt, field, value))
}

function waiting({ path }: WrittenPrompt, what: string): string {
  return `Ignored until you trust this folder: ${what} in ${path}. Review with \`halting trust\`.`
}
