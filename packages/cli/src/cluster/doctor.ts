import { isJsonObject, messageOf } from '@halting/core/adapters'
import { proofHeaders } from '@halting/restate/client'
import type { Finding } from '../doctor/finding.ts'
import type { Flags } from '../flags/flags.ts'
import { counted, many, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { clusterTokens } from './cluster-token.ts'
import { queryEngine, type EngineRow } from './engine-query.ts'
import { engineHint } from './engine-hint.ts'
import { requestEngine, TokenRefusedError } from './engine-request.ts'
import { workerFindings } from './doctor-workers.ts'
import { getJson } from './get-json.ts'
import { testedEngineVersion } from './server-binary.ts'

const timeoutMs = 10_000
/** A session ID that no session has; calls with it change nothing. */
const unusedSessionId = 'halting-doctor'

/** `halting doctor --cluster URL`: checks what sessions of a cluster need, as far as this machine can see it. */
export async function clusterFindings(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  program: Program,
): Promise<readonly Finding[]> {
  const { cluster = '' } = flags
  const requests = await engineFinding(cluster)
  const version = await adminFinding(flags)
  const isAdministered = version.state !== 'broken'
  const call = requests.state === 'good' ? await checkCalls(cluster, program) : undefined
  return [
    requests,
    version,
    ...(call === undefined ? [] : [call.finding]),
    ...(isAdministered ? await workerFindings(flags, call?.isAnswered === true) : []),
    ...(isAdministered ? [await sessionsFinding(flags), await clockFinding(flags)] : []),
  ]
}

async function engineFinding(cluster: string): Promise<Finding> {
  const what = 'engine'
  try {
    await getJson(cluster, '/restate/health', timeoutMs)
    return { what, state: 'good', says: `accepts requests at ${cluster}` }
  } catch (thrown) {
    const todo = engineHint
    return { what, state: 'broken', says: messageOf(thrown), todo }
  }
}

async function adminFinding(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<Finding> {
  const what = 'administration'
  const base = adminAddress(flags)
  try {
    const answer = await getJson(base, '/version', timeoutMs)
    const version = isJsonObject(answer) ? answer['version'] : undefined
    if (typeof version !== 'string') throw new UsageError(`${base} does not report its version.`)
    const says = `${base}, version ${oneLine(version, 40)}`
    if (version === testedEngineVersion) return { what, state: 'good', says }
    return { what, state: 'note', says, todo: `halting is tested with version ${testedEngineVersion}.` }
  } catch (thrown) {
    const todo =
      'Set --admin to the admin address, usually port 9070. It may be reachable from inside its network only.'
    return { what, state: 'broken', says: messageOf(thrown), todo }
  }
}

/** Calls a session method, which only a worker can answer, with the cluster token if there is one. */
async function checkCalls(
  cluster: string,
  { env }: Pick<Program, 'env'>,
): Promise<{ readonly finding: Finding; readonly isAnswered: boolean }> {
  const what = 'calls'
  const [token] = clusterTokens(env)
  const withWhat = token === undefined ? 'without a token' : 'with the token of HALTING_CLUSTER_TOKEN'
  const path = `/halting_session/${unusedSessionId}/status`
  try {
    await requestEngine({ base: cluster, path, headers: proofHeaders(token, path), timeoutMs })
    return { finding: { what, state: 'good', says: `a worker answers ${withWhat}` }, isAnswered: true }
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown
    const isRefused = thrown instanceof TokenRefusedError
    const todo = isRefused
      ? 'Set HALTING_CLUSTER_TOKEN here to the token that the workers have.'
      : 'Start a worker that the engine reaches: halting serve --restate URL --register.'
    const says = isRefused ? `a worker refuses calls ${withWhat}` : `no worker answers: ${thrown.message}`
    return { finding: { what, state: 'broken', says, todo }, isAnswered: isRefused }
  }
}

/** Work that needs somebody's attention, and how much is stored. */
async function sessionsFinding(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<Finding> {
  const what = 'sessions'
  const [stored] = await queryEngine(
    flags,
    "select count(distinct service_key) as sessions, sum(value_length) as bytes from state where service_name = 'halting_session'",
  )
  const work = await queryEngine(
    flags,
    "select status, count(*) as count from sys_invocation where target_service_name = 'halting_session' and target_handler_name = 'work' and status <> 'completed' group by status",
  )
  const inState = (...states: readonly string[]): number =>
    work.reduce((sum, row) => sum + (states.includes(String(row['status'])) ? numberOf(row, 'count') : 0), 0)
  const all = work.reduce((sum, row) => sum + numberOf(row, 'count'), 0)
  const mib = Math.ceil(numberOf(stored, 'bytes') / 1_048_576)
  const says = `${many(numberOf(stored, 'sessions'), 'session')} with ${counted(mib)} MiB of records, ${all} with work`
  const [paused, failing] = [inState('paused'), inState('backing-off')]
  if (paused > 0)
    return {
      what,
      state: 'note',
      says: `${says}, ${paused} paused`,
      todo: 'halting sessions --cluster URL --state paused shows how to continue each of them.',
    }
  if (failing > 0)
    return {
      what,
      state: 'note',
      says: `${says}, ${failing} being retried after a failure`,
      todo: 'Their worker may be gone: see the workers above. The engine keeps trying.',
    }
  return { what, state: 'good', says }
}

/** Leases and waits compare times of several machines, so their clocks must agree. */
const maxSkewMs = 5_000

async function clockFinding(flags: Pick<Flags, 'cluster' | 'admin'>): Promise<Finding> {
  const what = 'clock'
  const asked = Date.now()
  const [row] = await queryEngine(
    flags,
    "select arrow_cast(arrow_cast(now(), 'Timestamp(Millisecond, None)'), 'Int64') as now_ms",
  )
  const answered = Date.now()
  // Assumes that the engine read its clock halfway between request and answer.
  const skewMs = Math.round(numberOf(row, 'now_ms') - (asked + answered) / 2)
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(1)
  if (Math.abs(skewMs) <= maxSkewMs)
    return { what, state: 'good', says: `the clock of the engine differs by ${seconds} s` }
  return {
    what,
    state: 'note',
    says: `the clock of the engine is ${seconds} s ${skewMs > 0 ? 'ahead' : 'behind'}`,
    todo: 'Synchronize the clocks of both machines (NTP): ages and time limits are wrong by this much.',
  }
}

function numberOf(row: EngineRow | undefined, column: string): number {
  const value = row?.[column]
  return typeof value === 'number' ? value : 0
}
