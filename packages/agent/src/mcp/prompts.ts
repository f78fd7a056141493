import type { ContentBlock } from '@halting/core'
import { splitArguments } from '../instructions/argument-words.ts'
import { validServerName } from '@halting/policy'
import { type McpContent, shownBlocks } from './results.ts'
import type { ServerHandle } from './server-handle.ts'
import type { ServerToolOptions } from './server-tool.ts'

/** A prompt of a server as a slash command, without the slash. */
export interface PromptCommand {
  /** Name of the command: `mcp__server__prompt`. */
  readonly name: string
  /** The server's description. */
  readonly description: string
  /** Arguments of the prompt in order: `who [rest]`. */
  readonly argumentHint: string
}

export function promptCommandsOf({ name, offered }: ServerHandle): readonly PromptCommand[] {
  // Prompts with other names cannot be invoked.
  const wellNamed = offered.prompts.filter((prompt) => /^[^\s\p{C}]{1,128}$/u.test(prompt.name))
  return wellNamed.map((prompt) => ({
    name: `mcp__${validServerName(name)}__${prompt.name}`,
    description: prompt.description ?? prompt.title ?? '',
    argumentHint: hintOf(prompt.arguments),
  }))
}

function hintOf(
  parameters: readonly { readonly name: string; readonly required?: boolean | undefined }[] = [],
): string {
  return parameters.map((one) => (one.required === true ? one.name : `[${one.name}]`)).join(' ')
}

/** @throws Error that describes the error in the command */
export async function promptNamed(
  text: string,
  handles: readonly ServerHandle[],
  options: ServerToolOptions,
  signal: AbortSignal,
): Promise<string | readonly ContentBlock[] | undefined> {
  const [, server = '', name = '', rest = ''] = /^\/mcp__([\w-]+?)__(\S+)\s*(.*)$/s.exec(text.trim()) ?? []
  const handle = handles.find((one) => validServerName(one.name) === server)
  if (handle === undefined) return undefined
  await handle.connected(signal)
  const prompt = handle.offered.prompts.find((one) => one.name === name)
  if (prompt === undefined) throw new Error(`The server ${handle.name} has no prompt ${name}. ${listOf(handle)}`)
  const parameters = prompt.arguments ?? []
  const words = splitArguments(rest)
  const missing = parameters.slice(words.length).find(({ required }) => required === true)
  if (missing !== undefined) throw new Error(`/mcp__${server}__${name} needs ${hintOf(parameters)}.`)
  // The last argument receives all remaining words.
  const values = parameters.map(
    ({ name: field }, index) =>
      [field, index === parameters.length - 1 ? words.slice(index).join(' ') : words[index]] as const,
  )
  const filled = values.flatMap(([field, value]) =>
    value === undefined || value === '' ? [] : [[field, value] as const],
  )
  const { messages } = await handle.ask(signal, (client) =>
    client.getPrompt({ name, arguments: Object.fromEntries(filled) }, { signal, timeout: options.limits.connectMs }),
  )
  const several = messages.length > 1
  const content = messages.flatMap(({ role, content: block }): readonly McpContent[] =>
    several && block.type === 'text' ? [{ ...block, text: `${role}: ${block.text}` }] : [{ ...block }],
  )
  const blocks = await shownBlocks(content, options)
  if (blocks.length === 0) throw new Error(`The prompt ${name} of the server ${handle.name} is empty.`)
  const [only] = blocks
  return blocks.length === 1 && only?.type === 'text' ? only.text : blocks
}

function listOf({ offered }: ServerHandle): string {
  const names = offered.prompts.map(({ name }) => name)
  return names.length === 0 ? 'It has no prompts.' : `It has: ${names.join(', ').slice(0, 1_000)}.`
}
