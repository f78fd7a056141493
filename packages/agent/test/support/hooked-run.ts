import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions } from '@halting/policy'
import { QueryEngine, tool, type ModelRequest, type QueryOptions, type SdkMessage } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { onTestFinished } from 'vitest'
import { type HookLine, readHooks, ShellHooks, type ShellHooksOptions } from '../../src/hooks/index.ts'

export const command = (text: string, more: object = {}) => ({ type: 'command', command: text, ...more })
export const on = (text: string, more: object = {}) => [{ hooks: [command(text, more)] }]
export const json = (value: unknown): string => `echo '${JSON.stringify(value)}'`
export const specific = (hookEventName: string, fields: object) => ({
  hookSpecificOutput: { hookEventName, ...fields },
})
export const bash: ScriptedReply = { toolCalls: [{ name: 'Bash', id: 'c1', input: { command: 'make' } }] }

interface Hooked extends Partial<QueryOptions> {
  readonly rules?: object
  readonly source?: ShellHooksOptions['source']
  readonly prompt?: string
  /** Called during the first tool call. */
  readonly meanwhile?: (engine: QueryEngine) => void
}

/** A run with hooks of settings in its own folder, with one tool and these replies. */
export async function hookedRun(hooks: object, replies: readonly (ScriptedReply | Error)[], more: Hooked = {}) {
  const { rules, source = 'startup', prompt = 'go', meanwhile, ...options } = more
  const cwd = mkdtempSync(join(tmpdir(), 'halting-hooked-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const [ran, notes, lines]: [unknown[], string[], HookLine[]] = [[], [], []]
  const requests: ModelRequest[] = []
  const left = [...replies]
  const model = scriptedModel((request) => {
    requests.push({ ...request, messages: [...request.messages] })
    const reply = left.shift() ?? 'end'
    if (reply instanceof Error) throw reply
    return reply
  })
  const shell = new ShellHooks({
    hooks: readHooks(hooks).hooks,
    sessionId: 's1',
    transcriptPath: join(cwd, 's1.jsonl'),
    cwd,
    env: process.env,
    permissionMode: () => 'default',
    model: model.id,
    source,
    note: (text) => void notes.push(text),
    emit: (line) => void lines.push(line),
  })
  const tools = [
    tool({
      name: 'Bash',
      description: '',
      execute: (input: unknown) => {
        ran.push(input)
        if (ran.length === 1) meanwhile?.(engine)
        return 'tool output'
      },
    }),
  ]
  const permissions = shell.permissions(createPermissions({ cwd, allow: ['Bash'], ...rules }), 'deny')
  const { hooks: own, stopHooks, signal } = shell
  const engine = new QueryEngine({ model, tools, permissions, hooks: own, stopHooks, signal, ...options })
  const messages: SdkMessage[] = []
  for await (const message of engine.submit(prompt)) messages.push(message)
  await shell.end('other')
  const { reason, signal: stop } = engine.lastTerminal ?? {}
  return {
    engine,
    requests,
    messages,
    notes,
    lines,
    ran,
    shell,
    cwd,
    reason,
    message: stop?.message,
    /** The last request to the model, as text. */
    shown: JSON.stringify(requests.at(-1)?.messages),
    written: (name: string) => readFileSync(join(cwd, name), 'utf8'),
  }
}
