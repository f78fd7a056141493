import type { ModelMessage } from '@halting/core'
import { isToolResult, isToolUse } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { transcriptProblems } from '@halting/core/testing'
import { ClusterSession } from '../../src/service/cluster-session.ts'
import type { Played } from './play.ts'

/** What must never happen, however often a session loses its process. */
export function problemsOf({ records, effects }: Pick<Played, 'records' | 'effects'>): readonly string[] {
  const log = { keeps: 'nothing', append() {}, flush: () => undefined } as const
  const { transcript, open, ended } = new ClusterSession({ sessionId: 'played', path: 'played', records, log })
  const problems: string[] = []
  if (open !== undefined) problems.push('A run did not end.')
  if (ended.length === 0) problems.push('No run ended.')
  const did = new Set(effects)
  if (did.size < effects.length)
    problems.push(`Done twice: ${effects.filter((id, index) => effects.indexOf(id) !== index).join(', ')}.`)
  const asked = new Set<string>()
  for (const messages of [transcript.messages(), ...transcriptsOfAgents(records)]) {
    problems.push(...transcriptProblems(messages).map(String))
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    const results = new Map(
      blocks.filter(isToolResult).map(({ tool_use_id: id, content }) => [id, JSON.stringify(content)]),
    )
    for (const { id, name } of blocks.filter(isToolUse)) {
      asked.add(id)
      const problem = problemOfCall(name, id, results.get(id) ?? '', did.has(id))
      if (problem !== undefined) problems.push(problem)
    }
  }
  const inNone = [...did].filter((id) => !asked.has(id))
  // An interrupted message of an agent may be on no record.
  if (inNone.length > 0 && !hasOpenAgent(records)) problems.push(`Done, and in no transcript: ${inNone.join(', ')}.`)
  return problems
}

/** Messages of subagents that ended. Their first message is on no record: the prompt is in the call. */
function transcriptsOfAgents(records: readonly StepRecord[]): readonly (readonly ModelMessage[])[] {
  const going = new Map<string, Map<string, ModelMessage>>()
  const ended: (readonly ModelMessage[])[] = []
  for (const record of records) {
    if (record.type !== 'lap' && record.type !== 'end') continue
    const { scope, added } = record.type === 'lap' ? record.lap : record
    if (scope === '') continue
    const entries = going.get(scope) ?? new Map<string, ModelMessage>()
    going.set(scope, entries)
    // An agent that lost its process repeats its iterations: the same entries have the same ids.
    for (const entry of added) if ('message' in entry) entries.set(entry.id, entry.message)
    if (record.type === 'lap') continue
    ended.push([{ role: 'user', content: 'part' }, ...entries.values()])
    // An agent of another run may have the same name.
    going.delete(scope)
  }
  return ended
}

/** The agent that made a call. */
const withinAgent = /\/(agent:.+\/)tool:/

function hasOpenAgent(records: readonly StepRecord[]): boolean {
  const ended = new Set(records.flatMap((record) => (record.type === 'end' ? [record.scope] : [])))
  return records.some((record) => {
    const scope = record.type === 'intent' ? withinAgent.exec(record.key)?.[1] : undefined
    return scope !== undefined && !ended.has(scope)
  })
}

/** Checks the effect of a call against what the model was shown of it. */
function problemOfCall(name: string, id: string, result: string, tookEffect: boolean): string | undefined {
  if (result === '') return `${id} has no result.`
  if (result.includes('is unknown')) return undefined
  // The model learns that it was interrupted: it may have taken effect.
  if (/aborted|interrupted|stopped|cancel/i.test(result)) return undefined
  if (name === 'Look' || name === 'Fail' || name === 'Task' || name === 'Beside') return undefined
  const isPaid = result.includes(`paid by ${id}`)
  return isPaid === tookEffect
    ? undefined
    : `${id} ${tookEffect ? 'was' : 'was not'} done, but the model received: ${result}`
}
