// Holds R-BACK-8f and R-BACK-8g.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { endGroup, killGroup, markVariable, type ProcessGroup, processScanStart } from '../src/tools/process-group.ts'
import { ProcessTable } from '../src/tools/process-table.ts'

const started: ChildProcess[] = []

afterEach(() => {
  vi.restoreAllMocks()
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

let marks = 0

function newMark(): string {
  marks += 1
  return `process-group-test-${process.pid}-${marks}`
}

/** A process in its own group. */
function start(script: string, mark: string): ChildProcess {
  const env = { ...process.env, [markVariable]: mark }
  const child = spawn('bash', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'], env })
  started.push(child)
  return child
}

/** A command that ignores SIGTERM. */
async function stubborn(): Promise<ProcessGroup> {
  const mark = newMark()
  const moment = processScanStart()
  const shell = start('trap "" TERM; echo; exec sleep 1000', mark)
  if (shell.stdout !== null) await once(shell.stdout, 'data')
  return { groupId: shell.pid ?? 0, mark, knownBy: 'group', started: moment }
}

/** Another process of the command, which leaves its group and starts just before anything is killed. */
function startsBeforeKill(mark: string): Promise<unknown> {
  const kill = process.kill.bind(process)
  return new Promise((resolve) => {
    let isStarted = false
    vi.spyOn(process, 'kill').mockImplementation((processId, signal) => {
      if (signal === 'SIGKILL' && !isStarted) {
        isStarted = true
        start('exec sleep 1000', mark).once('exit', (_, end) => resolve(end))
      }
      return kill(processId, signal)
    })
  })
}

describe.runIf(process.platform === 'linux')('ending a command', () => {
  test('kills what it started just before it was killed', async () => {
    const group = await stubborn()
    const end = startsBeforeKill(group.mark)
    await endGroup(group, 20)
    expect(await Promise.race([end, Promise.resolve('still running')])).toBe('SIGKILL')
  })

  test('kills these processes even while the program exits', async () => {
    const group = await stubborn()
    const end = startsBeforeKill(group.mark)
    killGroup(group)
    const late = new Promise((resolve) => setTimeout(resolve, 1_000, 'still running'))
    expect(await Promise.race([end, late])).toBe('SIGKILL')
  })

  test('does not kill an unrelated process with the reused number of an ended monitor', async () => {
    const stranger = start('exec sleep 1000', 'a-stranger')
    const mark = newMark()
    const left = start('exec sleep 1000', mark)
    const table = new ProcessTable(500)
    const group: ProcessGroup = { groupId: stranger.pid ?? 0, mark, knownBy: 'group', hasMonitor: true }
    const sent: (string | number | undefined)[] = []
    const kill = process.kill.bind(process)
    vi.spyOn(process, 'kill').mockImplementation((processId, signal) => {
      if (Math.abs(processId) === stranger.pid) sent.push(signal)
      return kill(processId, signal)
    })
    table.add(group)
    await table.release(group)
    const end = once(left, 'exit')
    await table.dispose()
    expect(await end).toEqual([null, 'SIGTERM'])
    expect(sent).toEqual([])
  })
})
