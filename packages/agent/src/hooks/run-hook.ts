import { headOf, isJsonObject, jsonOf, messageOf, textOf } from '@halting/core/adapters'
import type { HookContext, HookFigures, JsonObject } from '@halting/core'
import { pluginRoot } from '../plugins/root-variable.ts'
import { SandboxError } from '@halting/policy'
import type { HookProcesses } from './processes.ts'
import { runCommand, stdoutLimit, type CommandCall, type HookEnd } from './run-command.ts'
import type { CallbackHook, ShellHook } from './settings.ts'
import { promptHookQuestion, refusedWithoutReason } from './hook-texts.ts'

/** What hooks of all types need of the session. */
export interface HookSurroundings extends Pick<CommandCall, 'cwd' | 'env' | 'readable'> {
  readonly processes: HookProcesses
  /** Holds commands; looked at before each. */
  readonly sandbox?: (() => CommandCall['sandbox']) | undefined
}

/** What calls the hooks of an event: a hook of the run, its permissions, or the program outside of a run. */
export interface EventSource {
  readonly signal: AbortSignal
  /** What the run has used and has left; absent outside of one. */
  readonly figures?: HookFigures
  /** Asks a model through the run; absent outside of one. */
  ask?(question: Parameters<HookContext['ask']>[0]): ReturnType<HookContext['ask']>
}

export interface HookCall extends Pick<CommandCall, 'onProgress'> {
  readonly hook: ShellHook
  readonly input: JsonObject
  readonly source: EventSource
}

/** Runs one hook. Never rejects: a hook that cannot be run has ended too. */
export async function runHook(call: HookCall, surroundings: HookSurroundings): Promise<HookEnd> {
  const { hook, source, onProgress } = call
  const { signal } = source
  const input = JSON.stringify(call.input)
  try {
    switch (hook.type) {
      case 'command': {
        const { sandbox, processes, cwd } = surroundings
        const { command, timeoutMs } = hook
        const where = { cwd, ...ofPlugin(hook, surroundings), sandbox: sandbox?.() }
        return await runCommand({ command, input: `${input}\n`, ...where, timeoutMs, signal, onProgress }, processes)
      }
      case 'http':
        return await inTime(hook, signal, (limit) => post(hook, input, ofPlugin(hook, surroundings).env, limit))
      case 'prompt':
        return await inTime(hook, signal, () => askModel(hook, input, source))
      case 'callback':
        return await inTime(hook, signal, (limit) => callBack(hook, call.input, limit))
    }
  } catch (thrown) {
    return thrown instanceof SandboxError ? { ...failed(thrown.message), kind: 'not held' } : failed(messageOf(thrown))
  }
}

/** The hook of a plugin knows the folder of that, and can read it. */
function ofPlugin(
  { pluginRoot: root }: ShellHook,
  { env, readable = [] }: HookSurroundings,
): Required<Pick<CommandCall, 'env' | 'readable'>> {
  if (root === undefined) return { env, readable }
  return { env: { ...env, [pluginRoot]: root }, readable: [...readable, root] }
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

/** A function's answer is what a command prints with exit code 0. */
async function callBack(hook: CallbackHook, input: JsonObject, signal: AbortSignal): Promise<HookEnd> {
  const threw = (why: string): HookEnd => ({ kind: 'threw', exitCode: null, stdout: '', stderr: why })
  try {
    const given = jsonOf((await hook.call(input, signal)) ?? {})
    if (!isJsonObject(given)) return threw('its answer is not an object')
    if (given['async'] === true) return { kind: 'left', exitCode: null, stdout: '', stderr: '' }
    const stdout = Object.keys(given).length === 0 ? '' : JSON.stringify(given)
    return { kind: 'exited', exitCode: 0, stdout, stderr: '' }
  } catch (thrown) {
    return threw(messageOf(thrown))
  }
}

type HttpHook = Extract<ShellHook, { readonly type: 'http' }>
type PromptHook = Extract<ShellHook, { readonly type: 'prompt' }>

/** An answer of 200 to 299 is what a command prints with exit code 0; anything else is a failure that decides nothing. */
async function post(
  { url, headers, variables }: HttpHook,
  body: string,
  env: CommandCall['env'],
  signal: AbortSignal,
): Promise<HookEnd> {
  const filled = Object.entries(headers).map(([name, value]) => [name, withVariables(value, env, variables)] as const)
  const unfit = filled.find(
    ([name, value]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\u0020-\u007E\u0080-\u00FF]/.test(value),
  )
  // Not by the words of `fetch`: they quote the value.
  if (unfit !== undefined) return failed(`the header ${unfit[0]} is invalid`)
  const { host } = new URL(url)
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...Object.fromEntries(filled) },
    signal,
    // What was trusted was this address: another one gets neither the headers nor the input.
    redirect: 'manual',
  }).catch((thrown: unknown) => `${host}: ${causeOf(thrown)}`)
  if (typeof response === 'string') return failed(response)
  const isElsewhere = response.status >= 300 && response.status < 400
  const text = await readBounded(response)
  if (response.ok) return { kind: 'exited', exitCode: 0, stdout: text, stderr: '' }
  const why = `HTTP ${response.status} of ${host}${isElsewhere ? ' (redirects are not followed)' : ''}`
  return { kind: 'exited', exitCode: 1, stdout: '', stderr: why }
}

/** `fetch failed` alone says nothing; what it failed of stands in its cause. */
function causeOf(thrown: unknown): string {
  const cause: unknown = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : messageOf(cause)
}

/** `$NAME` and `${NAME}` in a header are of the environment, so that no key need stand in a settings file. */
function withVariables(value: string, env: CommandCall['env'], allowed: readonly string[] | undefined): string {
  return value.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_whole, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? ''
    return allowed === undefined || allowed.includes(name) ? (env[name] ?? '') : ''
  })
}

async function readBounded({ body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= stdoutLimit) break
  }
  return headOf(text, stdoutLimit)
}

/** The run asks, pays and counts: a question is ended with the run, or at the end of the hook's time. */
async function askModel({ prompt, timeoutMs }: PromptHook, input: string, source: EventSource): Promise<HookEnd> {
  if (source.ask === undefined) return failed('prompt hooks work only for events that the run waits for')
  const filled = prompt.includes('$ARGUMENTS') ? prompt.replaceAll('$ARGUMENTS', () => input) : `${prompt}\n\n${input}`
  const messages = [{ role: 'user', content: `${promptHookQuestion}\n\n${filled}` }] as const
  const reply = await source.ask({ system: '', messages, maxOutputTokens: answerTokens, timeoutMs })
  switch (reply.kind) {
    case 'aborted':
      return { kind: 'aborted', exitCode: null, stdout: '', stderr: '' }
    case 'over_budget':
      return failed('the budget does not allow asking the model')
    case 'failed':
      return failed(reply.error.message)
    case 'answered':
      return endOfAnswer(textOf(reply.message.content))
  }
}

const answerTokens = 1_000

function endOfAnswer(answer: string): HookEnd {
  const verdict = verdictIn(answer)
  if (verdict === undefined)
    return { kind: 'exited', exitCode: 1, stdout: '', stderr: 'the model did not answer {"ok", "reason"}' }
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
    return { ok, reason: typeof reason === 'string' && reason !== '' ? reason : refusedWithoutReason }
  } catch {
    return undefined
  }
}
