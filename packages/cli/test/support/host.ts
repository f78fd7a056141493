import { startScriptedServer, type ScriptedServer } from '@halting/models/scripted'
import { afterEach } from 'vitest'
import { type Ended, type Line, type Running, start } from './program.ts'

// A host like those that drive the program: it writes and reads lines.

/** The first message of the official SDK and of the Python SDK. */
export const hostArgs = ['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json'] as const

export interface Host {
  readonly running: Running
  readonly service: ScriptedServer
  /** Writes these as lines, in one write. */
  readonly send: (...messages: readonly (object | string)[]) => void
  /** Every line so far. */
  readonly lines: () => readonly Line[]
  /** Resolves with the first matching line after those that were waited for. */
  readonly next: (isIt: (line: Line) => boolean) => Promise<Line>
  /** Resolves with the first matching line of all. */
  readonly first: (isIt: (line: Line) => boolean) => Promise<Line>
  /** Sends a request, and returns the content of the answer. */
  readonly ask: (subtype: string, fields?: object) => Promise<Answer>
  /** Sends a prompt, and waits for the result. */
  readonly say: (text: string, more?: object) => Promise<Line>
  /** Closes stdin and waits for the exit. */
  readonly end: () => Promise<Ended & { readonly lines: readonly Line[] }>
}

interface Answer {
  readonly subtype: string
  readonly request_id: string
  readonly response?: { readonly [field: string]: unknown }
  readonly error?: string
}

export const user = (content: unknown, more: object = {}): object => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
  session_id: '',
  ...more,
})

export const isResult = ({ type }: Line): boolean => type === 'result'

const open: Host[] = []

/** Stops what a test has left running. */
export function endHosts(): void {
  afterEach(async () => {
    for (const { running, service } of open.splice(0)) {
      running.child.kill('SIGKILL')
      await service.close()
    }
  })
}

export interface HostOptions {
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the program like a host, against a local service with these replies. */
export async function host(replies: readonly unknown[], options: HostOptions = {}): Promise<Host> {
  const service = await startScriptedServer({ replies })
  const { args = [], env = {}, cwd } = options
  const running = start([...hostArgs, ...args], {
    stdin: { open: true },
    env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: service.url, ANTHROPIC_MODEL: 'claude-sonnet-5-5', ...env },
    ...(cwd !== undefined && { cwd }),
  })
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  let rest = ''
  let waited = 0
  let asked = 0
  running.child.stdout?.on('data', (text: string) => {
    rest += text
    const parts = rest.split('\n')
    rest = parts.pop() ?? ''
    // True: a host expects an object with a type in each line.
    for (const part of parts) lines.push(JSON.parse(part) as Line)
    for (const look of waiting) look()
  })
  const find = (isIt: (line: Line) => boolean, from: () => number): Promise<Line> =>
    new Promise((resolve, reject) => {
      let at = 0
      const look = (): void => {
        at = Math.max(at, from())
        while (at < lines.length && !isIt(lines[at] ?? { type: '' })) at++
        const line = lines[at]
        if (line === undefined) return
        waiting.delete(look)
        waited = Math.max(waited, at + 1)
        resolve(line)
      }
      waiting.add(look)
      look()
      void running.ended.then(({ status, stderr }) => {
        look()
        reject(new Error(`ended with ${status} before the line came: ${stderr}\n${JSON.stringify(lines.slice(-5))}`))
      })
    })
  const send: Host['send'] = (...messages) => {
    running.child.stdin?.write(
      messages.map((message) => (typeof message === 'string' ? message : `${JSON.stringify(message)}\n`)).join(''),
    )
  }
  const made: Host = {
    running,
    service,
    send,
    lines: () => lines,
    next: (isIt) => find(isIt, () => waited),
    first: (isIt) => find(isIt, () => 0),
    async ask(subtype, fields = {}) {
      const id = `r${++asked}`
      send({ type: 'control_request', request_id: id, request: { subtype, ...fields } })
      const { response } = await find(
        ({ type, response: answered }) => type === 'control_response' && idOf(answered) === id,
        () => 0,
      )
      // True: the shape of an answer; tests check the rest.
      return response as Answer
    },
    say(text, more) {
      send(user(text, more))
      return find(isResult, () => waited)
    },
    async end() {
      running.child.stdin?.end()
      const ended = await running.ended
      return { ...ended, lines }
    },
  }
  open.push(made)
  return made
}

function idOf(response: unknown): unknown {
  return typeof response === 'object' && response !== null && 'request_id' in response ? response.request_id : undefined
}

/** Lines without what differs in each run. */
export function kinds(lines: readonly Line[]): readonly string[] {
  return lines.map(({ type, subtype, state }) =>
    `${type} ${subtype ?? ''} ${typeof state === 'string' ? state : ''}`.trimEnd(),
  )
}
