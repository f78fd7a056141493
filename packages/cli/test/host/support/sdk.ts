import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { dirname, delimiter, join } from 'node:path'
import {
  type Options,
  query,
  type Query,
  type SDKMessage,
  type SDKResultMessage,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk'
import { type SeenRequest, startScriptedServer } from '@halting/models/scripted'
import { afterEach, inject } from 'vitest'
import { here, programPath } from '../../support/program.ts'

// The official SDK drives the program by its executable option, unchanged; the model is a script on this machine.

export interface Told {
  readonly messages: readonly SDKMessage[]
  readonly results: readonly SDKResultMessage[]
  /** What the `for await` of the host's program threw. */
  readonly thrown: string | undefined
  readonly stderr: string
  /** What the model was asked. */
  readonly requests: readonly SeenRequest[]
  readonly cwd: string
}

export interface Asked {
  readonly options?: Options
  /** Told of every message, with the query that it came from. */
  readonly during?: (message: SDKMessage, query: Query) => void | Promise<void>
  /** Once the query is there. */
  readonly begun?: (query: Query) => void | Promise<void>
}

const folders: string[] = []

/** Folders of a test go with it. */
export function endFolders(): void {
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
}

/** An empty folder for a session. */
export function folderOfSession(): string {
  const folder = realpathSync(mkdtempSync(join(here(), 'sdk-')))
  folders.push(folder)
  return folder
}

export const model = 'claude-sonnet-5-5'

/** Runs one query to its end. */
export async function asking(
  prompt: string | AsyncIterable<SDKUserMessage>,
  replies: readonly unknown[],
  { options = {}, during, begun }: Asked = {},
): Promise<Told> {
  const service = await startScriptedServer({ replies })
  const cwd = options.cwd ?? folderOfSession()
  const messages: SDKMessage[] = []
  let stderr = ''
  let thrown: string | undefined
  const asked = query({
    prompt,
    options: {
      pathToClaudeCodeExecutable: programPath(),
      settingSources: [],
      model,
      ...options,
      cwd,
      env: {
        PATH: [process.env['PATH'], dirname(process.execPath)].join(delimiter),
        HOME: here(),
        TMPDIR: here(),
        XDG_CACHE_HOME: inject('codeCache'),
        HALTING_CONFIG_DIR: join(cwd, '.config-of-person'),
        ANTHROPIC_API_KEY: 'k',
        ANTHROPIC_BASE_URL: service.url,
        HALTING_MCP_WAIT_MS: '60000',
        // Without it the SDK keeps what it reads of states to itself.
        CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
        ...options.env,
      },
      stderr: (text) => void (stderr += text),
    },
  })
  try {
    const beginning = begun?.(asked)
    for await (const message of asked) {
      messages.push(message)
      await during?.(message, asked)
    }
    await beginning
  } catch (error) {
    thrown = error instanceof Error ? error.message : String(error)
  } finally {
    asked.close()
    await service.close()
  }
  const results = messages.filter((message) => message.type === 'result')
  return { messages, results, thrown, stderr, requests: service.requests, cwd }
}

/** What the last result says, where it is a success. */
export function answerOf({ results }: Told): string | undefined {
  const last = results.at(-1)
  return last?.subtype === 'success' ? last.result : undefined
}

/** Results of tools in what the model was asked last, as texts. */
export function toolResults({ requests }: Told): readonly string[] {
  const { messages } = requests.at(-1)?.body ?? {}
  if (!Array.isArray(messages)) return []
  // What the program sends is in the shape of the Messages API.
  return (messages as readonly { readonly content: unknown }[]).flatMap(({ content }) =>
    Array.isArray(content)
      ? (content as readonly { readonly type: string; readonly content?: unknown }[])
          .filter(({ type }) => type === 'tool_result')
          .map((block) => textOf(block.content))
      : [],
  )
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? (content as readonly { readonly text?: string }[]).map(({ text = '' }) => text).join('')
    : ''
}

/** Names of the tools that the model was shown. */
export function shownTools({ requests }: Told, at = -1): readonly string[] {
  const { tools } = requests.at(at)?.body ?? {}
  return Array.isArray(tools) ? (tools as readonly { readonly name: string }[]).map(({ name }) => name) : []
}

/** The system prompt that the model was given, as one text. */
export function systemOf({ requests }: Told): string {
  return textOf(requests[0]?.body['system'] ?? '')
}

/** Messages of a person, handed in one after another when the test says so. */
export class Said implements AsyncIterable<SDKUserMessage> {
  readonly #waiting: SDKUserMessage[] = []
  #isOver = false
  #wake: () => void = () => undefined

  constructor(...texts: readonly string[]) {
    for (const text of texts) this.say(text)
  }

  say(text: string, more: Partial<SDKUserMessage> = {}): void {
    this.#waiting.push({
      type: 'user',
      message: { role: 'user', content: text },
      parent_tool_use_id: null,
      ...more,
    })
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<SDKUserMessage> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#isOver) return
      else await new Promise<void>((resolve) => void (this.#wake = resolve))
    }
  }
}

export const use = (name: string, input: object): object => ({ content: [{ type: 'tool_use', name, input }] })
