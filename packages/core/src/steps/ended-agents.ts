import type { CameToEnd } from '../state/agent-figures.ts'
import { isJsonObject } from '../values/json.ts'
import type { ExternalInput } from './control.ts'
import type { StepRecord } from './log.ts'

/** Agents of the background whose ends are on record, as they came in, or as they were stopped with the run. */
export function endedAgentsIn(records: readonly StepRecord[]): ReadonlyMap<string, CameToEnd> {
  const ended = new Map<string, CameToEnd>()
  for (const { agents = [], tasks = [], left = [] } of records.flatMap(endsIn))
    for (const end of agents) {
      const { id } = end
      const task = tasks.find((each) => each.id === id)
      const { how, description = '', status = 'completed', result } = left.find((each) => each.id === id) ?? {}
      const said = result === undefined ? {} : { result }
      const stopped = { type: 'ended', id, status: how === 'ended' ? status : 'stopped', summary: description } as const
      ended.set(id, { task: task ?? { ...stopped, ...said }, end })
    }
  return ended
}

function endsIn(record: StepRecord): readonly ExternalInput[] {
  if (record.type === 'control') return [record.control]
  const isStop = record.type === 'result' && record.key.endsWith('/background:stop') && isJsonObject(record.value)
  // What is recorded of that step is what a control record holds of agents.
  return isStop ? [record.value] : []
}
