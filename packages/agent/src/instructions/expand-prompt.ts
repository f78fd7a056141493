import { dirname } from 'node:path'
import { splitArguments } from './argument-words.ts'
import type { PromptFile } from './prompt-files.ts'
import { isAiSdkName } from '@halting/policy/settings'
import * as texts from './prompt-texts.ts'
import { briefingOffer, type BriefingTrust } from './briefing-trust.ts'

/** An expanded prompt file. */
export interface ExpandedPrompt {
  /** The text for the model. */
  readonly text: string
  /** The text without the output of commands. Only text that users wrote is searched for mentions. */
  readonly authoredText: string
  /** Notes for the user. */
  readonly notes: readonly string[]
}

/** How commands and files in a prompt file are replaced by their output and contents. */
export interface Substitution {
  /** Which content of the folder is trusted. */
  readonly trust: BriefingTrust
  /** Runs a Bash command if the rules allow it; otherwise returns why not. */
  readonly run: (command: string) => Promise<{
    /** Whether the rules allowed it. */
    readonly kind: 'ran' | 'refused'
    /** The command's output, or why the command was refused. */
    readonly text: string
  }>
}

/** Parses `/name arguments`; undefined if the prompt is not a command, for example a path. */
export function commandIn(prompt: string):
  | {
      /** Name of the command, without the slash. */
      readonly name: string
      /** Arguments of the command as typed; '' if there are none. */
      readonly given: string
    }
  | undefined {
  const [, name, argumentText = ''] = /^\/([\p{L}\p{N}_.:-]+)(?:\s+([\s\S]*))?$/u.exec(prompt.trim()) ?? []
  return name === undefined ? undefined : { name, given: argumentText.trim() }
}

// Spec R-CMD-2, R-CMD-3.
/** The text of a command or skill with its arguments, and with the output of its embedded Bash commands. */
export async function expandPrompt(
  prompt: PromptFile,
  argumentText: string,
  how: Substitution,
): Promise<ExpandedPrompt> {
  const notes: string[] = []
  // Arguments are never run as commands.
  const parts = prompt.body.split(substitution)
  const filled: string[] = []
  const authored: string[] = []
  for (const [at, part] of parts.entries()) {
    if (at % 2 === 1) filled.push(await substituted(prompt, part, how, notes))
    else {
      authored.push(withArguments(part, argumentText))
      filled.push(authored.at(-1) ?? '')
    }
  }
  const hasPlace = parts.some((part, at) => at % 2 === 0 && placeholder.test(part))
  const all = filled.join('')
  const text = argumentText === '' || hasPlace ? all : `${all}${texts.extraArguments(argumentText)}`
  const base = prompt.kind === 'skill' ? texts.skillFolder(dirname(prompt.path)) : ''
  return { text: base + text, authoredText: `${authored.join(' ')}${hasPlace ? '' : ` ${argumentText}`}`, notes }
}

/** `` !`command` ``, at the beginning or after white space. */
const substitution = /(?<=^|\s)!`([^`\n]+)`/m
const placeholder = /\$(?:ARGUMENTS\b|\d)/

function withArguments(text: string, argumentText: string): string {
  const words = splitArguments(argumentText)
  return text.replaceAll(/\$(?:ARGUMENTS\[(\d+)\]|(ARGUMENTS)\b|(\d+))/g, (_, index, all, position) => {
    if (all !== undefined) return argumentText
    if (index !== undefined) return words[Number(index)] ?? ''
    return Number(position) === 0 ? argumentText : (words[Number(position) - 1] ?? '')
  })
}

async function substituted(
  prompt: PromptFile,
  command: string,
  { trust, run }: Substitution,
  notes: string[],
): Promise<string> {
  if (prompt.level === 'project' && !(await trust.lets(commandOffer(prompt, command)))) {
    notes.push(`Ignored until you trust this folder: ${prompt.path} runs "${command}". Review with \`halting trust\`.`)
    return texts.commandNotRun(texts.untrustedFolder)
  }
  const { kind, text } = await run(command)
  if (kind === 'refused') notes.push(`${prompt.path}: did not run "${command}". ${text}`)
  return kind === 'ran' ? text : texts.commandNotRun(text)
}

/** The request for trust: exactly this command in this file. */
function commandOffer({ path }: PromptFile, command: string): ReturnType<typeof briefingOffer> {
  return briefingOffer('commands', `!\`${command}\` in ${path}`)
}

/** Rules and a model in a project file need the same trust as rules in project settings. */
export function frontMatterOffer(
  { path }: PromptFile,
  field: 'allowed-tools' | 'model',
  value: string,
): ReturnType<typeof briefingOffer> {
  const offer = briefingOffer('commands', `${field}: ${value} in ${path}`)
  return field === 'model' ? { ...offer, needsNaming: isAiSdkName(value) } : offer
}

/** Returns everything that the prompt files of a project would run or loosen. */
export function promptOffers(prompts: readonly PromptFile[]): readonly ReturnType<typeof briefingOffer>[] {
  return prompts
    .filter(({ level }) => level === 'project')
    .flatMap((prompt) => [
      ...prompt.body
        .split(substitution)
        .filter((_, at) => at % 2 === 1)
        .map((command) => commandOffer(prompt, command)),
      ...prompt.allowedTools.map((rule) => frontMatterOffer(prompt, 'allowed-tools', rule)),
      ...(prompt.model === '' ? [] : [frontMatterOffer(prompt, 'model', prompt.model)]),
    ])
}
