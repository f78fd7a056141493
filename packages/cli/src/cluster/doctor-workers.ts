import type { JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Finding } from '../doctor/finding.ts'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { queryEngine } from './engine-query.ts'
import { getJson } from './get-json.ts'

const timeoutMs = 5_000
/** Maximum number of workers that are contacted. */
const maxChecked = 20

interface RegisteredWorker {
  readonly id: string
  readonly uri: string
  /** Number of sessions whose work is pinned to this worker. */
  readonly bound: number
}

/**
 * Findings about the registered workers: whether each responds, and which one receives new sessions. `isAnswered`: a
 * worker has answered a call through the engine.
 */
export async function workerFindings(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  isAnswered: boolean,
): Promise<readonly Finding[]> {
  const base = adminAddress(flags)
  const all = await registeredWorkers(flags, base)
  if (all.length === 0)
    return [
      {
        what: 'workers',
        state: 'broken',
        says: 'none is registered',
        todo: 'Start one: halting serve --restate URL --register.',
      },
    ]
  const latest = await latestWorker(base)
  const format = latest?.format
  const checked = all.filter(({ id, bound }) => id === latest?.id || bound > 0).slice(0, maxChecked)
  const findings = await Promise.all(
    checked.map(async (worker) => {
      const isLatest = worker.id === latest?.id
      const own = isLatest ? format : await storageFormat(base, worker.id)
      return workerFinding(worker, { isLatest, format: own, newest: format, isAnswered })
    }),
  )
  const others = all.length - checked.length
  return others === 0 ? findings : [...findings, ...unusedFinding(others)]
}

/** A finding about workers that have no sessions and receive no new ones. */
function unusedFinding(count: number): readonly Finding[] {
  const says = `${count} more registered, without sessions: idle, or no longer running`
  return [{ what: 'workers', state: 'good', says }]
}

async function registeredWorkers(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  base: string,
): Promise<readonly RegisteredWorker[]> {
  const answer = await getJson(base, '/deployments', timeoutMs)
  const deployments = isJsonObject(answer) ? answer['deployments'] : undefined
  if (!Array.isArray(deployments)) throw new UsageError(`${base} does not list its workers.`)
  const rows = await queryEngine(
    flags,
    "select pinned_deployment_id as id, count(*) as count from sys_invocation where target_service_name = 'halting_session' and target_handler_name = 'work' and status <> 'completed' group by pinned_deployment_id",
  )
  const bound = new Map(rows.map(({ id, count }) => [id, Number(count)]))
  return deployments.filter(isJsonObject).flatMap(({ id, uri, services }) => {
    if (typeof id !== 'string' || typeof uri !== 'string' || !Array.isArray(services)) return []
    const serves = services.some((service) => isJsonObject(service) && service['name'] === 'halting_session')
    return serves ? [{ id, uri, bound: bound.get(id) ?? 0 }] : []
  })
}

interface LatestWorker {
  readonly id: string
  /** The version of its storage format. */
  readonly format: string | undefined
}

async function latestWorker(base: string): Promise<LatestWorker | undefined> {
  const service = await getJson(base, '/services/halting_session', timeoutMs).catch(() => undefined)
  if (!isJsonObject(service) || typeof service['deployment_id'] !== 'string') return undefined
  return { id: service['deployment_id'], format: parseFormat(service) }
}

/** The storage format of a worker that does not receive new sessions. */
async function storageFormat(base: string, id: string): Promise<string | undefined> {
  const deployment = await getJson(base, `/deployments/${id}`, timeoutMs).catch(() => undefined)
  const services = isJsonObject(deployment) ? deployment['services'] : undefined
  const all = Array.isArray(services) ? services.filter(isJsonObject) : []
  const service = all.find(({ name }) => name === 'halting_session')
  return service && parseFormat(service)
}

function parseFormat({ metadata }: JsonObject): string | undefined {
  const format = isJsonObject(metadata) ? metadata['halting.format'] : undefined
  return typeof format === 'string' ? format : undefined
}

interface WorkerState {
  readonly isLatest: boolean
  /** The version of its storage format. */
  readonly format: string | undefined
  /** The storage format of the worker that receives new sessions. */
  readonly newest: string | undefined
  readonly isAnswered: boolean
}

async function workerFinding(
  { uri, bound }: RegisteredWorker,
  { isLatest, format, newest, isAnswered }: WorkerState,
): Promise<Finding> {
  const what = 'worker'
  const address = oneLine(uri.replace(/\/+$/, ''), 200)
  const role = [
    ...(isLatest ? [`new sessions go there${format === undefined ? '' : `, format ${oneLine(format, 10)}`}`] : []),
    ...(bound > 0 ? [`has the work of ${bound}`] : []),
  ].join(', ')
  try {
    await getJson(uri, '/ready', timeoutMs)
    if (!isLatest && bound > 0 && Number(format) < Number(newest))
      return {
        what,
        state: 'note',
        says: `${address} is ready; ${role}, and stores format ${oneLine(format ?? '', 10)}, which is older than the format of new sessions`,
        todo: 'Its sessions can finish there, even while a worker with --take-over is running. To move them now, stop this worker with SIGTERM.',
      }
    return { what, state: 'good', says: `${address} is ready; ${role}` }
  } catch (thrown) {
    const says = `${address} (${role}): ${oneLine(messageOf(thrown), 300)}`
    // This worker has just answered a call through the engine.
    if (isLatest && isAnswered)
      return {
        what,
        state: 'note',
        says,
        todo: 'It answers the engine. Only live text needs it to be reachable from here.',
      }
    const todo = isLatest
      ? 'Start it again at this address, or register another one: halting serve --restate URL --register.'
      : 'If it is gone for good, a worker that has their folders takes over its sessions. Otherwise, start it again at this address.'
    return { what, state: isLatest ? 'broken' : 'note', says, todo }
  }
}
