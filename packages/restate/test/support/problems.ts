import { isToolResult, isToolUse } from '@halting/core/adapters'
import { transcriptProblems } from '@halting/core/testing'
import { ClusterSession } from '../../src/service/cluster-session.ts'
import type { Played } from './play.ts'

/** What must never be, however often a session lost its process. */
export function problemsOf({ records, effects }: Pick<Played, 'records' | 'effects'>): readonly string[] {
  const log = { keeps: 'nothing', append() {}, flush: () => undefined } as const
  const { transcript, open, ended } = new ClusterSession({ sessionId: 'played', path: 'played', records, log })
  const messages = transcript.messages()
  const problems = transcriptProblems(messages).map(String)
  if (open !== undefined) problems.push('A run did not end.')
  if (ended.length === 0) problems.push('No run ended.')
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const results = new Map(
    blocks.filter(isToolResult).map(({ tool_use_id: id, content }) => [id, JSON.stringify(content)]),
  )
  const did = new Set(effects)
  if (did.size < effects.length)
    problems.push(`Done twice: ${effects.filter((id, index) => effects.indexOf(id) !== index).join(', ')}.`)
  for (const { id, name } of blocks.filter(isToolUse)) {
    const told = results.get(id) ?? ''
    const problem = problemOfCall(name, id, told, did.has(id))
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

/** Of what a call did and what the model was told of it. */
function problemOfCall(name: string, id: string, told: string, tookEffect: boolean): string | undefined {
  if (told === '') return `${id} has no result.`
  if (told.includes('is unknown')) return undefined
  // The model hears that it was broken off: it may have taken effect.
  if (/aborted|interrupted|stopped|cancel/i.test(told)) return undefined
  if (name === 'Look' || name === 'Fail' || name === 'Task' || name === 'Beside') return undefined
  const isPaid = told.includes(`paid by ${id}`)
  return isPaid === tookEffect
    ? undefined
    : `${id} ${tookEffect ? 'was' : 'was not'} done, and the model was told: ${told}`
}
