import type { AnyTool, LoopEvent, PermissionRequest } from '@halting/core'
import type { Remedy } from '@halting/agent'
import { many, oneLine } from '../io/figures.ts'
import type { Toolbox } from '../session/toolbox.ts'
import { rerun, type Asked } from './rerun.ts'
import { inputSummary } from './summaries.ts'

/** The calls of a run that were denied. */
export interface Denials {
  hear(event: LoopEvent): void
  /** What was denied, and the command that runs it again with what was missing; '' for none. */
  report(width: number): { readonly text: string; readonly command: string }
}

interface Denial {
  readonly request: PermissionRequest
  readonly message: string
  readonly remedy: Remedy | undefined
}

export function followDenials({ permissions, tools }: Pick<Toolbox, 'permissions' | 'tools'>, asked: Asked): Denials {
  const denials: Denial[] = []
  const hear = (event: LoopEvent): void => {
    if (event.type === 'agent') hear(event.event)
    if (event.type !== 'permission_denied') return
    const { callId: id, name, input, message } = event
    const tool = tools.find((candidate) => candidate.name === name)
    if (tool === undefined) return
    const readOnly = isReadOnly(tool, input)
    const request: PermissionRequest = { call: { type: 'tool_use', id, name, input }, tool, readOnly }
    denials.push({ request, message, remedy: permissions.remedyFor(request) })
  }
  const isAllowedByEdits = ({ request }: Denial): boolean => {
    const decision = permissions.decide({ ...request, mode: 'acceptEdits' })
    return 'behavior' in decision && decision.behavior === 'allow'
  }
  return {
    hear,
    report(width) {
      const cured = denials.filter(({ remedy }) => remedy !== undefined)
      const rules = [...new Set(cured.flatMap(({ remedy }) => remedy?.rules ?? []))]
      const isAllEdits = rules.length > 1 && cured.every(isAllowedByEdits)
      const mode = isAllEdits ? 'acceptEdits' : cured.find(({ remedy }) => remedy?.mode !== undefined)?.remedy?.mode
      const final = linesOfFinal(denials.filter(({ remedy }) => remedy === undefined))
      if (cured.length === 0) return { text: final.join('\n'), command: '' }
      const names = oneLine([...new Set(cured.map(nameOf))].join(', '), 2 * width)
      const { text, command } = rerun(asked, { rules: isAllEdits ? [] : rules, mode })
      const told = `halting: ${many(cured.length, 'call')} denied: ${names}. ${text}`
      return { text: [...final, told].join('\n'), command }
    },
  }
}

function linesOfFinal(denials: readonly Denial[]): readonly string[] {
  const [first] = denials
  if (first === undefined) return []
  return [`halting: ${many(denials.length, 'call')} denied. ${first.request.call.name}: ${oneLine(first.message, 300)}`]
}

function nameOf({ request: { call } }: Denial): string {
  return `${call.name} ${inputSummary(call.input)}`.trimEnd()
}

function isReadOnly({ readOnly }: AnyTool, input: unknown): boolean {
  try {
    // True: the input was checked before anybody asked whether the call may run.
    return typeof readOnly === 'boolean' ? readOnly : readOnly(input as never)
  } catch {
    return false
  }
}
