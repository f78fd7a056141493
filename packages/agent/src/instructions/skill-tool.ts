import { headOf } from '@halting/core/adapters'
import type { ToolContext } from '@halting/core'
import type { AnyLeafTool } from '@halting/core/adapters'
import { filledText, inputForm, optional, text } from '../tools/input.ts'
import { errorResult } from '../tools/result.ts'
import * as texts from './briefing-texts.ts'
import type { PromptFile } from './prompt-files.ts'
import { type ExpandedPrompt } from './expand-prompt.ts'
import type { PromptCaller } from './prompt-command.ts'

/** Maximum characters of the list of skills, and of one description. */
const listCharacters = 8_000
const descriptionCharacters = 300

interface SkillInput {
  readonly skill: string
  readonly args?: string
}

// Spec R-SKILL-1.
/** Returns the text of a skill on request. Until then, the model sees only its name and description. */
export function createSkillTool(
  skills: () => readonly PromptFile[],
  expand: (skill: PromptFile, argumentText: string, who: PromptCaller) => Promise<ExpandedPrompt>,
  /** Returns the current list of skills; '' if the system prompt contains it. */
  news: () => string = () => '',
): AnyLeafTool {
  const form = inputForm<SkillInput>('Skill', {
    skill: filledText('The name of the skill'),
    args: optional(text('Arguments, such as what to use it on')),
  })
  return {
    name: 'Skill',
    get description() {
      return texts.skillDescription(news())
    },
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    async execute({ skill: name, args = '' }: SkillInput, context: ToolContext) {
      const skill = skills().find((each) => each.name === name.replace(/^\//, ''))
      if (skill === undefined)
        return errorResult(
          texts.unknownSkill(
            name,
            skills().map((each) => each.name),
          ),
        )
      const { text: content, notes } = await expand(skill, args, context)
      return {
        content: [content, ...notes].join('\n\n'),
        details: { type: 'skill', skill: skill.name, path: skill.path },
      }
    },
  }
}

/** The list of skills for the model; '' if there are none. */
export function skillList(skills: readonly PromptFile[]): string {
  if (skills.length === 0) return ''
  const lines: string[] = []
  let left = listCharacters
  for (const { name, description } of skills) {
    const short = headOf(description.replaceAll(/\s+/g, ' '), descriptionCharacters)
    const line = `- ${name}${short === '' ? '' : `: ${short}`}`
    left -= line.length
    // A skill can be used by name without its description.
    lines.push(left > 0 ? line : `- ${name}`)
  }
  return `${texts.skillListHead}\n${lines.join('\n')}`
}
