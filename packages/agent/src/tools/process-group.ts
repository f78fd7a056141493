import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

/** A command's processes: its group, and on Linux also those that left the group but carry its mark in their environment. */
export interface ProcessGroup {
  readonly groupId: number
  readonly mark: string
  /**
   * `group` while the shell's own end was not yet seen, or is our doing. `mark` for what a finished command left behind:
   * once such a group is empty its number may be given to strangers, so only what carries the mark is ours.
   */
  readonly knownBy: 'group' | 'mark'
  /** What left the group is no part of it any more: it is to live on. */
  readonly leaves?: 'detached'
  /** Its first process waits for the command, and takes all of it down when it ends itself: it is to end last, as bubblewrap. */
  readonly hasMonitor?: true
}

/** The variable that carries the marks; a nested agent adds its own to those it was given. */
export const markVariable = 'HALTING_CALL'

const pollMs = 15
const goneAfterKillMs = 2000

/** SIGTERM to all of the group, SIGKILL to what is left after the grace time. Resolves when nothing of it runs any more. */
export async function endGroup(group: ProcessGroup, graceMs: number): Promise<void> {
  if (group.hasMonitor === true) await endBehindMonitor(group, graceMs)
  else signalGroup(group, 'SIGTERM')
  if (await isGoneWithin(group, graceMs)) return
  signalGroup(group, 'SIGKILL')
  await isGoneWithin(group, goneAfterKillMs)
}

// Spec R-EBASH-6.
/** The monitor rests while the others end: programs have the time that they have without one, to take away a lock or a temporary file. */
async function endBehindMonitor(group: ProcessGroup, graceMs: number): Promise<void> {
  const { groupId } = group
  const others = (): readonly Member[] => (membersOf(group) ?? []).filter(({ processId }) => processId !== groupId)
  send(groupId, 'SIGSTOP')
  for (const { processId } of others()) send(processId, 'SIGTERM')
  const deadline = performance.now() + graceMs
  while (others().length > 0 && performance.now() < deadline) await wait(pollMs)
  if (others().length > 0) signalGroup(group, 'SIGKILL')
  else send(groupId, 'SIGCONT')
}

async function isGoneWithin(group: ProcessGroup, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (isRunning(group)) {
    if (performance.now() >= deadline) return false
    await wait(pollMs)
  }
  return true
}

/** Sends a signal to everything of the group, at once and without waiting: also for use while the program exits. */
export function signalGroup(group: ProcessGroup, signal: 'SIGTERM' | 'SIGKILL'): void {
  const members = membersOf(group)
  const isOurs = group.knownBy === 'group' || members === undefined
  if (isOurs) send(-group.groupId, signal)
  for (const member of members ?? []) if (!isOurs || member.groupId !== group.groupId) send(member.processId, signal)
}

export function isRunning(group: ProcessGroup): boolean {
  const members = membersOf(group)
  return members === undefined ? send(-group.groupId, 0) : members.length > 0
}

function send(target: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 0): boolean {
  try {
    return process.kill(target, signal)
  } catch (thrown) {
    // EPERM: it is there and belongs to another user.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

interface Member {
  readonly processId: number
  readonly groupId: number
  readonly isMarked: boolean
}

/** Processes of a command that left its group, such as a server that detached itself. None is known without /proc. */
export function detachedOf(group: ProcessGroup): readonly number[] {
  const all: ProcessGroup = { groupId: group.groupId, mark: group.mark, knownBy: group.knownBy }
  return (membersOf(all) ?? [])
    .filter(({ groupId, isMarked }) => isMarked && groupId !== group.groupId)
    .map(({ processId }) => processId)
}

/** What runs of the group, zombies left out: under an init that does not reap they stay for ever. Undefined without /proc. */
function membersOf(group: ProcessGroup): readonly Member[] | undefined {
  const ids = process.platform === 'linux' ? processIds() : undefined
  if (ids === undefined) return undefined
  const found = ids.flatMap((processId): readonly Member[] => {
    const groupId = processId === process.pid ? undefined : groupOf(processId)
    if (groupId === undefined) return []
    if (group.leaves === 'detached' && groupId !== group.groupId) return []
    const isMarked = hasMark(processId, group.mark)
    return isMarked || groupId === group.groupId ? [{ processId, groupId, isMarked }] : []
  })
  if (group.knownBy === 'group' || found.some((member) => member.isMarked && member.groupId === group.groupId))
    return found
  return found.filter((member) => member.isMarked)
}

function processIds(): readonly number[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return undefined
  }
}

/** The group of a process that runs; undefined for a zombie and for what is gone. */
function groupOf(processId: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1')
    // The name, in parentheses, may contain anything; after the last one come state, parent, group.
    const [state, , groupId] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? undefined : Number(groupId)
  } catch {
    return undefined
  }
}

function hasMark(processId: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${processId}/environ`, 'latin1').includes(mark)
  } catch {
    return false
  }
}
