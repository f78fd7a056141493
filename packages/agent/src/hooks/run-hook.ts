import { headOf, isJsonObject, jsonOf, messageOf, textOf } from '@halting/core/adapters'
import type { HookContext, HookFigures, JsonObject } from '@halting/core'
import { pluginRoot } from '../plugins/root-variable.ts'
import { SandboxError } from '@halting/policy'
import type { HookProcesses } from './processes.ts'
import { runCommand, stdoutLimit, type CommandCall, type HookEnd } from './run-command.ts'
import type { CallbackHook, ShellHook } from './settings.ts'
import { promptHookQuestion, refusedWithoutReason } from './hook-texts.ts'

/** What hooks of all types need from the session. */
export interface HookSurroundings extends Pick<CommandCall, 'cwd' | 'env' | 'readable'> {
  readonly processes: HookProcesses
  /** Returns the sandbox for commands; called before each command. */
  readonly sandbox?: (() => CommandCall['sandbox']) | undefined
}

/** What triggers an event: a hook of the run, its permissions, or the program outside a run. */
export interface EventSource {
  readonly signal: AbortSignal
  /** Usage and remaining limits of the run; absent outside a run. */
  readonly figures?: HookFigures
  /** Asks a model through the run; absent outside a run. */
  ask?(question: Parameters<HookContext['ask']>[0]): ReturnType<HookContext['ask']>
}

export interface HookCall extends Pick<CommandCall, 'onProgress'> {
  readonly hook: ShellHook
  readonly input: JsonObject
  readonly source: EventSource
}

/** Runs one hook. Never rejects: a hook that cannot run counts as ended. */
export async function runHook(call: HookCall, surroundings: HookSurroundings): Promise<HookEnd> {
  const { hook, source, onProgress } = call
  const { signal } = source
  const input = JSON.stringify(call.input)
  try {
    switch (hook.type) {
      case 'command': {
        const { sandbox, processes, cwd } = surroundings
        const { command, timeoutMs } = hook
        const where = { cwd, ...withPluginFolder(hook, surroundings), sandbox: sandbox?.() }
        return await runCommand({ command, input: `${input}\n`, ...where, timeoutMs, signal, onProgress }, processes)
      }
      case 'http':
        return await inTime(hook, signal, (limit) => post(hook, input, withPluginFolder(hook, surroundings).env, limit))
      case 'prompt':
        return await inTime(hook, signal, () => askModel(hook, input, source))
      case 'callback':
        return await inTime(hook, signal, (limit) => callBack(hook, call.input, limit))
    }
  } catch (thrown) {
    return thrown instanceof SandboxError
      ? { ...failed(thrown.message), kind: 'not confined' }
      : failed(messageOf(thrown))
  }
}

/** Adds the plugin's folder to the environment of its hooks, and makes it readable. */
function withPluginFolder(
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
  // A function that ignores its signal is abandoned at the timeout.
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

/** Treats the return value of a function like the output of a command with exit code 0. */
async function callBack(hook: CallbackHook, input: JsonObject, signal: AbortSignal): Promise<HookEnd> {
  const threw = (why: string): HookEnd => ({ kind: 'threw', exitCode: null, stdout: '', stderr: why })
  try {
    const returned = jsonOf((await hook.call(input, signal)) ?? {})
    if (!isJsonObject(returned)) return threw('its answer is not an object')
    if (returned['async'] === true) return { kind: 'left', exitCode: null, stdout: '', stderr: '' }
    const stdout = Object.keys(returned).length === 0 ? '' : JSON.stringify(returned)
    return { kind: 'exited', exitCode: 0, stdout, stderr: '' }
  } catch (thrown) {
    return threw(messageOf(thrown))
  }
}

type HttpHook = Extract<ShellHook, { readonly type: 'http' }>
type PromptHook = Extract<ShellHook, { readonly type: 'prompt' }>

/**
 * Treats a response with status 200 to 299 like the output of a command with exit code 0. Any other response is a
 * failure that decides nothing.
 */
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
  // The error message of `fetch` would contain the header value.
  if (unfit !== undefined) return failed(`the header ${unfit[0]} is invalid`)
  const { host } = new URL(url)
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...Object.fromEntries(filled) },
    signal,
    // Only this address is trusted: a redirect target must get neither the headers nor the input.
    redirect: 'manual',
  }).catch((thrown: unknown) => `${host}: ${causeOf(thrown)}`)
  if (typeof response === 'string') return failed(response)
  const isElsewhere = response.status >= 300 && response.status < 400
  const text = await readBounded(response)
  if (response.ok) return { kind: 'exited', exitCode: 0, stdout: text, stderr: '' }
  const why = `HTTP ${response.status} of ${host}${isElsewhere ? ' (redirects are not followed)' : ''}`
  return { kind: 'exited', exitCode: 1, stdout: '', stderr: why }
}

/** The actual reason of a `fetch failed` error is in its cause. */
function causeOf(thrown: unknown): string {
  const cause: unknown = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : messageOf(cause)
}

/** Expands `$NAME` and `${NAME}` in a header, so that settings files need not contain keys. */
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

/** Asks a model through the run, which pays for it. The request ends with the run, or at the hook's timeout. */
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
    // The parsed value is not validated yet.
    const { ok, reason } = Object(JSON.parse(found)) as { readonly [field: string]: unknown }
    if (typeof ok !== 'boolean') return undefined
    return { ok, reason: typeof reason === 'string' && reason !== '' ? reason : refusedWithoutReason }
  } catch {
    return undefined
  }
}
