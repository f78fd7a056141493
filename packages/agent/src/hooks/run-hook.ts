import { messageOf } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import type { HookProcesses } from './processes.ts'
import { runCommand, stdoutLimit, type CommandCall, type HookEnd } from './run-command.ts'
import type { ShellHook } from './settings.ts'

/** What hooks of all types need of the session. */
export interface HookSurroundings extends Pick<CommandCall, 'cwd' | 'env'> {
  readonly processes: HookProcesses
  /** Asks a model one question; absent where none may be asked. */
  readonly ask?: ((prompt: string, signal: AbortSignal) => Promise<string>) | undefined
}

export interface HookCall extends Pick<CommandCall, 'signal' | 'onProgress'> {
  readonly hook: ShellHook
  readonly input: JsonObject
}

/** Runs one hook. Never rejects: a hook that cannot be run has ended too. */
export async function runHook(call: HookCall, surroundings: HookSurroundings): Promise<HookEnd> {
  const { hook, signal, onProgress } = call
  const input = JSON.stringify(call.input)
  try {
    switch (hook.type) {
      case 'command': {
        const { cwd, env, processes } = surroundings
        const { command, timeoutMs } = hook
        return await runCommand({ command, input: `${input}\n`, cwd, env, timeoutMs, signal, onProgress }, processes)
      }
      case 'http':
        return await inTime(hook, signal, (limit) => post(hook, input, surroundings.env, limit))
      case 'prompt':
        return await inTime(hook, signal, (limit) => askModel(hook.prompt, input, surroundings.ask, limit))
    }
  } catch (thrown) {
    return failed(messageOf(thrown))
  }
}

function failed(why: string): HookEnd {
  return { kind: 'not started', exitCode: null, stdout: '', stderr: why }
}

async function inTime(
  { timeoutMs }: ShellHook,
  signal: AbortSignal,
  run: (limit: AbortSignal) => Promise<HookEnd>,
): Promise<HookEnd> {
  const timeout = new AbortController()
  const cut = (kind: 'timed out' | 'aborted'): HookEnd => ({ kind, exitCode: null, stdout: '', stderr: '' })
  let onAbort: () => void = () => undefined
  let timer: NodeJS.Timeout | undefined
  // Whatever heeds no signal is left behind at the end of its time.
  const ended = new Promise<HookEnd>((resolve) => {
    timer = setTimeout(() => {
      timeout.abort()
      resolve(cut('timed out'))
    }, timeoutMs)
    onAbort = () => {
      timeout.abort()
      resolve(cut('aborted'))
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([ended, run(timeout.signal).catch((thrown: unknown) => failed(messageOf(thrown)))])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

type HttpHook = Extract<ShellHook, { readonly type: 'http' }>

/** An answer of 200 to 299 is what a command prints with exit code 0; anything else is a failure that decides nothing. */
async function post(
  { url, headers }: HttpHook,
  body: string,
  env: CommandCall['env'],
  signal: AbortSignal,
): Promise<HookEnd> {
  const filled = Object.entries(headers).map(([name, value]) => [name, withVariables(value, env)])
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...Object.fromEntries(filled) },
    signal,
  })
  const text = await readBounded(response)
  if (response.ok) return { kind: 'exited', exitCode: 0, stdout: text, stderr: '' }
  return { kind: 'exited', exitCode: 1, stdout: '', stderr: `HTTP ${response.status} of ${new URL(url).host}` }
}

/** `$NAME` and `${NAME}` in a header are of the environment, so that no key need stand in a settings file. */
function withVariables(value: string, env: CommandCall['env']): string {
  return value.replaceAll(
    /\$(?:\{(\w+)\}|(\w+))/g,
    (_whole, braced?: string, bare?: string) => env[braced ?? bare ?? ''] ?? '',
  )
}

async function readBounded({ body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= stdoutLimit) break
  }
  return text.slice(0, stdoutLimit)
}

const question = `You are a hook of a coding agent: you look at one event and say whether it may go on.
Answer with one JSON object and nothing else: {"ok": true}, or {"ok": false, "reason": "why not"}.`

async function askModel(
  prompt: string,
  input: string,
  ask: HookSurroundings['ask'],
  signal: AbortSignal,
): Promise<HookEnd> {
  if (ask === undefined) return failed('no model may be asked by hooks in this run')
  const filled = prompt.includes('$ARGUMENTS') ? prompt.replaceAll('$ARGUMENTS', () => input) : `${prompt}\n\n${input}`
  const answer = await ask(`${question}\n\n${filled}`, signal)
  const verdict = verdictIn(answer)
  if (verdict === undefined)
    return { kind: 'exited', exitCode: 1, stdout: '', stderr: 'the model gave no {"ok", "reason"}' }
  const stdout = verdict.ok ? '' : JSON.stringify({ decision: 'block', reason: verdict.reason })
  return { kind: 'exited', exitCode: 0, stdout, stderr: '' }
}

function verdictIn(answer: string): { readonly ok: boolean; readonly reason: string } | undefined {
  const found = /\{[\s\S]*\}/.exec(answer)?.[0]
  if (found === undefined) return undefined
  try {
    // Any value may come.
    const { ok, reason } = Object(JSON.parse(found)) as { readonly [field: string]: unknown }
    if (typeof ok !== 'boolean') return undefined
    return { ok, reason: typeof reason === 'string' && reason !== '' ? reason : 'A hook says that this may not go on.' }
  } catch {
    return undefined
  }
}
