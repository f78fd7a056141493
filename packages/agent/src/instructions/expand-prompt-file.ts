import { messageOf } from '@halting/core/adapters'
import type { RulePermissions } from '@halting/policy'
import type { Workspace } from '../tools/workspace.ts'
import type { PromptFile } from './prompt-files.ts'
import { expandPrompt, type ExpandedPrompt, frontMatterOffer } from './expand-prompt.ts'
import type { BriefingTrust } from './briefing-trust.ts'
import { type PromptCaller, runPromptCommand } from './prompt-command.ts'

interface ExpandingOptions {
  readonly workspace: Workspace
  readonly permissions: RulePermissions
  /** Returns why a command must not run; undefined if nothing refuses it. */
  readonly guard?: (command: string) => Promise<string | undefined>
}

/** Returns the expanded text of a command or skill. Activates the rules of the prompt file. */
export async function expandPromptFile(
  prompt: PromptFile,
  argumentText: string,
  trust: BriefingTrust,
  { workspace, permissions, guard }: ExpandingOptions,
  who: PromptCaller,
): Promise<ExpandedPrompt> {
  const notes: string[] = []
  for (const rule of prompt.allowedTools) {
    if (!(await lets(prompt, 'allowed-tools', rule, trust))) {
      notes.push(ignoredNote(prompt, `allowed-tools: ${rule}`))
      continue
    }
    try {
      permissions.addRules('allow', [rule])
    } catch (thrown) {
      notes.push(`allowed-tools in ${prompt.path}: ${messageOf(thrown)}`)
    }
  }
  const made = await expandPrompt(prompt, argumentText, {
    trust,
    run: runPromptCommand(workspace, permissions, who, guard),
  })
  return { ...made, notes: [...notes, ...made.notes] }
}

/** The model of a command, if it is trusted. */
export async function modelOfPromptFile(
  prompt: PromptFile,
  trust: BriefingTrust,
  notes: string[],
): Promise<string | undefined> {
  const { model } = prompt
  if (model === '' || model === 'inherit') return undefined
  if (await lets(prompt, 'model', model, trust)) return model
  notes.push(ignoredNote(prompt, `model: ${model}`))
  return undefined
}

async function lets(
  prompt: PromptFile,
  field: 'allowed-tools' | 'model',
  value: string,
  trust: BriefingTrust,
): Promise<boolean> {
  return prompt.level !== 'project' || trust.lets(frontMatterOffer(prompt, field, value))
}

function ignoredNote({ path }: PromptFile, what: string): string {
  return `Ignored until you trust this folder: ${what} in ${path}. Review with \`halting trust\`.`
}
