import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { fakeCluster, type FakeCluster } from '../../../restate/test/support/fake-cluster.ts'
import { terminalCluster } from '../../src/cluster/terminal-cluster.ts'
import { workerLog } from '../../src/cluster/worker-log.ts'
import { openWorkerSession } from '../../src/cluster/worker-sessions.ts'
import { Workspaces } from '../../src/cluster/workspaces.ts'
import { programInMemory } from '../support/program-in-memory.ts'
import { folder, type AppSetup, type RunningApp, startApp } from '../terminal/app-support.ts'

/** A cluster with this program's worker and a scripted model; only the engine is fake. */
export async function clusterOfReplies(
  replies: readonly unknown[],
): Promise<FakeCluster & { readonly folder: string }> {
  const home = folder('halting-worker-')
  const base = join(home, 'workspaces')
  mkdirSync(base)
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify({ replies }))
  const program = programInMemory({ cwd: home, env: { PATH: process.env['PATH'], HOME: home } })
  const workspaces = new Workspaces({ base, template: undefined, allowed: undefined })
  const own = {
    flags: { script, allowedTools: ['Bash(echo *)', 'Bash(sleep *)'] },
    program,
    log: workerLog({ format: 'text', output: program.output, worker: () => undefined }),
    workspaces,
    refusal: (message: string) => new Error(message),
  }
  const cluster = await fakeCluster({ open: (asked) => openWorkerSession(own, asked) })
  onTestFinished(() => cluster.close())
  return { ...cluster, folder: base }
}

/** The interactive program on that cluster. */
export function startOnCluster(
  { url }: Pick<FakeCluster, 'url'>,
  setup: AppSetup = {},
  cluster = terminalCluster(url, url),
): Promise<RunningApp> {
  return startApp({
    ...setup,
    flags: { cluster: url, admin: url, ...setup.flags },
    cluster,
    open: (flags, program) => cluster.open(flags, program),
  })
}
