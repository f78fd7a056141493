import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { IngressOptions, Worker, Opening } from '@halting/restate'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { findMissingKey } from '../flags/missing-key.ts'
import { signalExitCodes } from '../io/exit-codes.ts'
import { elapsed, many, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { clusterTokens } from './cluster-token.ts'
import { Gates, gateLimits } from './gates.ts'
import { loadRestate } from './load-restate.ts'
import { openMetrics } from './metrics/metrics.ts'
import { payloadStores } from './payloads.ts'
import { openWorkerSession } from './worker-sessions.ts'
import { workerLog, type WorkerLog } from './worker-log.ts'
import { workerToken, workerTokenVariable } from './worker-token.ts'
import { Workspaces } from './workspaces.ts'

const defaults = { host: '127.0.0.1', port: 9080, concurrency: 16, graceMs: 30_000 }

/** `halting serve`: runs sessions of a cluster until it is stopped. */
export async function serve(given: Flags, program: Program): Promise<number> {
  if (given.restate === undefined)
    throw new UsageError('halting serve needs the address of the cluster: --restate http://127.0.0.1:8080.')
  const flags = validatedFlags(given, program)
  const worker = await startServingWorker(flags, program)
  const shutdown = new Shutdown(worker, flags.grace ?? defaults.graceMs)
  try {
    if (flags.register !== undefined) await worker.register(shutdown.signal)
    const concurrency = flags.concurrency ?? defaults.concurrency
    worker.log.say(
      `serving at ${worker.url}, up to ${many(concurrency, 'session')} at once. SIGTERM stops it without losing work.`,
    )
    if (flags.port === 0 && flags.register === '')
      worker.log.say(
        'the port changes with each start (--port 0). Sessions that this worker leaves wait some 10 s until it, or another worker, takes them over. Use a fixed --port.',
      )
    const missing = await findMissingKey(flags, program)
    if (missing !== undefined)
      worker.log.say(`${missing.message} Sessions of this worker are refused until it starts with a key.`)
    const why = await worker.whyNotReady()
    if (why !== undefined && flags.register === undefined && !shutdown.signal.aborted)
      worker.log.say(`this worker may not be registered: use --register, or restate deployments register ${worker.url}`)
  } catch (error) {
    if (!shutdown.signal.aborted) {
      await worker.close()
      throw new UsageError(messageOf(error))
    }
  }
  return shutdown.over
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host)
}

/** A worker and its log. */
export interface ServingWorker extends Worker {
  readonly log: WorkerLog
}

/** Starts a worker with the flags of the program. It is not registered yet. */
export async function startServingWorker(flags: Flags, program: Program): Promise<ServingWorker> {
  const restate = await loadRestate('serve')
  const { createLiveEvents, startWorker, SessionRefusedError } = restate
  const { output, cwd, env } = program
  let url: string | undefined
  const log = workerLog({ format: flags.logFormat ?? 'text', output, worker: () => url })
  const metrics = await openMetrics()
  const tokens = clusterTokens(env)
  const [clusterToken] = tokens
  const folder = (path: string | undefined): string | undefined => path && resolve(cwd, path)
  const workspaces = new Workspaces({
    base: resolve(cwd, flags.workspaces ?? 'halting-workspaces'),
    template: folder(flags.workspaceTemplate),
    allowed: folder(flags.folders),
  })
  const refusal = (message: string): Error => new SessionRefusedError(message)
  const payloads = flags.payloads === undefined ? undefined : payloadStores(flags.payloads, program, restate)
  const ingress = ingressOptions(flags.restate, clusterToken)
  const limits = gateLimits(flags)
  const gates = ingress && limits && new Gates(restate, ingress, limits)
  const own = withAbsolutePaths(flags, cwd)
  const host = flags.host ?? defaults.host
  const token = workerToken(env)
  const hasLiveEvents = isLoopback(host) || token !== undefined
  if (!hasLiveEvents)
    log.say(
      `no live events: ${host} is reachable by others. Set ${workerTokenVariable} to the token that clients must send.`,
    )
  const live = hasLiveEvents ? await createLiveEvents({ host, ...(token !== undefined && { token }) }) : undefined
  try {
    const worker = await startWorker({
      host,
      ...(live !== undefined && { listener: live }),
      ...(payloads !== undefined && { payloads }),
      port: flags.port ?? defaults.port,
      admin: adminAddress(flags),
      tokens,
      ...(flags.identityKey !== undefined && { identityKeys: flags.identityKey }),
      ...(ingress !== undefined && { ingress }),
      ...(flags.takeOver === true && { takesOver: true }),
      tenantOf: (opening) => tenantOfOpening(flags, opening),
      ...((flags.register ?? '') !== '' && { advertise: flags.register }),
      open: (asked) => openWorkerSession({ flags: own, program, log, metrics, workspaces, gates, refusal }, asked),
      canOpen: ({ sessionId, isNew, opening: { folder, forkedFrom } }) =>
        workspaces.has({ sessionId, isNew, folder: asText(folder), forkedFrom: asText(forkedFrom) }),
      onRemove: (sessionId) => workspaces.remove(sessionId),
      concurrency: flags.concurrency ?? defaults.concurrency,
      ...(flags.retain !== undefined && { retainMs: flags.retain }),
      onEvent(event) {
        log.event(event)
        metrics.onEvent(event)
      },
      // If others can reach the worker, its metrics require the token.
      metrics: { read: (figures) => metrics.text(figures), ...(!isLoopback(host) && { token: token ?? null }) },
    })
    url = worker.url
    return {
      ...worker,
      log,
      async close() {
        await worker.close()
        await live?.close()
      },
    }
  } catch (error) {
    await live?.close()
    throw new UsageError(`The worker cannot listen: ${messageOf(error)}. Use --port N for another port.`)
  }
}

/** Other values are refused when the session is opened. */
function asText(given: unknown): string | undefined {
  return typeof given === 'string' ? given : undefined
}

function ingressOptions(url: string | undefined, token: string | undefined): IngressOptions | undefined {
  return url === undefined ? undefined : { url, ...(token !== undefined && { token }) }
}

/** @throws UsageError for flags that a worker does not support, and for folders that do not exist */
function validatedFlags(flags: Flags, { cwd }: Program): Flags {
  for (const [flag, given] of [
    ['--resume', flags.resume],
    ['--continue', flags.continue],
    ['--session-id', flags.sessionId],
    ['--fork-session', flags.forkSession],
    ['--print', flags.print],
    ['--cluster', flags.cluster],
  ] as const)
    if (given !== undefined)
      throw new UsageError(`halting serve runs the sessions that the cluster assigns. Remove ${flag}.`)
  for (const [flag, path] of [
    ['--workspace-template', flags.workspaceTemplate],
    ['--folders', flags.folders],
  ] as const) {
    const isFolder =
      path === undefined || statSync(resolve(cwd, path), { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder) throw new UsageError(`${flag} takes an existing directory, not "${path}".`)
  }
  const template = flags.workspaceTemplate
  if (template !== undefined && statSync(resolve(cwd, template, '.git'), { throwIfNoEntry: false })?.isFile() === true)
    throw new UsageError(
      `--workspace-template "${template}" is a git worktree: its copies would share one index and branch. Use a clone: git clone --shared REPOSITORY DIR.`,
    )
  return flags
}

/** Sessions work in their own folders, so paths relative to the worker become absolute. */
function withAbsolutePaths(flags: Flags, cwd: string): Flags {
  const full = (path: string): string => (existsSync(resolve(cwd, path)) ? resolve(cwd, path) : path)
  const one = (['script', 'settings', 'systemPromptFile', 'appendSystemPromptFile', 'jsonSchema'] as const).flatMap(
    (name) => (flags[name] === undefined ? [] : [[name, full(flags[name])] as const]),
  )
  const lists = (['addDir', 'mcpConfig', 'pluginDir', 'pluginDirNoMcp'] as const).flatMap((name) =>
    flags[name] === undefined ? [] : [[name, flags[name].map(full)] as const],
  )
  return { ...flags, ...Object.fromEntries([...one, ...lists]) }
}

/** E1: the first signal drains the worker, which then exits with 0. E2: the second one exits at once. */
class Shutdown {
  readonly #controller = new AbortController()
  readonly over: Promise<number>

  constructor(worker: ServingWorker, graceMs: number) {
    this.over = new Promise((resolve) => {
      const drain = async (): Promise<void> => {
        worker.log.say(
          `stopping: sessions finish their current iteration (at most ${elapsed(graceMs)}). A second signal stops at once.`,
        )
        await worker.drain(graceMs)
        await worker.close()
        resolve(0)
      }
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.on(name, () => {
          if (this.signal.aborted) process.exit(signalExitCodes[name])
          this.#controller.abort()
          void drain()
        })
    })
  }

  /** Aborted at the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }
}

/** The tenant of a session: that of the worker, or the one that the opening names among the allowed tenants. @throws UsageError */
export function tenantOfOpening(
  { tenant, allowedTenants = [] }: Flags,
  { tenant: wanted }: Opening,
): string | undefined {
  if (wanted === undefined) {
    if (tenant === undefined && allowedTenants.length > 0)
      throw new UsageError(
        'Sessions of this worker must name a tenant when they start (it has --allowed-tenants and no --tenant).',
      )
    return tenant
  }
  if (typeof wanted !== 'string' || wanted === '')
    throw new UsageError('tenant in the session options must be a string.')
  if (wanted === tenant || allowedTenants.includes(wanted)) return wanted
  throw new UsageError(
    `Sessions of this worker cannot use the tenant ${oneLine(wanted, 60)}: it is not among its --allowed-tenants.`,
  )
}
