import { isDeepStrictEqual } from 'node:util'
import type { AnyTool, RunEvent, PermissionRequest } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Remedy } from '@halting/policy'
import { list } from '../flags/values.ts'
import { many } from '../io/figures.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import type { Toolbox } from '@halting/agent/open-session'
import { rerunCommand, type Invocation } from './rerun-command.ts'
import { inputSummary } from '@halting/analysis/words'

/** Collects the denied calls of a run. */
export interface Denials {
  onEvent(event: RunEvent): void
  /** The denied calls, and the command that repeats the run with the missing permissions; '' for none. */
  report(width: number): { readonly text: string; readonly command: string }
}

/** A way to allow a denied call. */
interface Cure {
  readonly remedy: Remedy
  /** Whether the mode that accepts edits would allow it. */
  readonly isEdit: boolean
}

/** Finds what would allow a call of this tool; undefined if no flag would. */
export type Remedies = (name: string, input: unknown) => Cure | undefined

interface Denial {
  readonly name: string
  readonly input: unknown
  readonly message: string
  readonly cure: Cure | undefined
}

/** Remedies according to the rules of the session. */
export function remediesOf({ permissions, tools }: Pick<Toolbox, 'permissions' | 'tools'>): Remedies {
  return (name, input) => {
    // A placeholder id: the request is not for the current call with that id.
    const request = requestOf(tools, { type: 'tool_use', id: 'denied', name, input })
    const remedy = remedyByFlag(permissions.remedyFor(request))
    if (remedy === undefined) return undefined
    const decision = permissions.decide({ ...request, mode: 'acceptEdits' })
    const isAllowed = 'behavior' in decision && decision.behavior === 'allow'
    // In that mode the command would run confined, while the rule runs it as requested.
    return { remedy, isEdit: isAllowed && !runsConfined(input, permissions) }
  }
}

function runsConfined(input: unknown, permissions: Toolbox['permissions']): boolean {
  if (!isJsonObject(input) || typeof input['command'] !== 'string') return false
  return permissions.confinementOf({ callId: 'denied', command: input['command'] })?.kind === 'edit'
}

export function followDenials(remedies: Remedies, invocation: Invocation): Denials {
  const denials: Denial[] = []
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'agent') onEvent(event.event)
    if (event.type !== 'permission_denied') return
    const { name, input, message } = event
    denials.push({ name, input, message, cure: remedies(name, input) })
  }
  return {
    onEvent,
    report(width) {
      const cures = denials.flatMap(({ cure }) => cure ?? [])
      const rules = [...new Set(cures.flatMap(({ remedy }) => remedy.rules))]
      const isAllEdits = rules.length > 1 && cures.every(({ isEdit }) => isEdit)
      const mode = isAllEdits ? 'acceptEdits' : cures.find(({ remedy }) => remedy.mode !== undefined)?.remedy.mode
      const curable = denials.filter(({ cure }) => cure !== undefined)
      const incurable = incurableLines(denials.filter(({ cure }) => cure === undefined))
      if (curable.length === 0) return { text: incurable.join('\n'), command: '' }
      const names = revealHiddenInLine([...new Set(curable.map(nameOf))].join(', '), 2 * width)
      const { text, command } = rerunCommand(invocation, { rules: isAllEdits ? [] : rules, mode })
      const summary = `halting: ${many(curable.length, 'call')} denied: ${names}. ${text}`
      return { text: [...incurable, summary].join('\n'), command }
    },
  }
}

/** The remedy, if `--allowedTools` would parse its rules back unchanged. */
function remedyByFlag(remedy: Remedy | undefined): Remedy | undefined {
  if (remedy === undefined) return undefined
  const read = list(remedy.rules.join(','))
  return 'value' in read && isDeepStrictEqual(read.value, remedy.rules) ? remedy : undefined
}

function incurableLines(denials: readonly Denial[]): readonly string[] {
  const [first] = denials
  if (first === undefined) return []
  return [`halting: ${many(denials.length, 'call')} denied. ${first.name}: ${revealHiddenInLine(first.message, 300)}`]
}

function nameOf({ name, input }: Denial): string {
  return `${name} ${inputSummary(input)}`.trimEnd()
}

/** The call as the rules judged it. Calls of MCP servers are decided by tool name, since claims of the server itself allow nothing. */
function requestOf(tools: readonly AnyTool[], call: PermissionRequest['call']): PermissionRequest {
  const tool = tools.find(({ name }) => name === call.name) ?? placeholderTool(call.name)
  return { call, tool, readOnly: isReadOnly(tool, call.input) }
}

function placeholderTool(name: string): AnyTool {
  return { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' }
}

function isReadOnly({ readOnly }: AnyTool, input: unknown): boolean {
  try {
    // This cast is safe: the input was validated before the rules were applied.
    return typeof readOnly === 'boolean' ? readOnly : readOnly(input as never)
  } catch {
    return false
  }
}
