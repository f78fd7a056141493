import { setTimeout as wait } from 'node:timers/promises'
import { type Member, type ProcessMoment, ProcessScan } from './process-scan.ts'

/**
 * The processes of a command: its group, and on Linux also processes that left the group but have its mark in their
 * environment.
 */
export interface ProcessGroup {
  readonly groupId: number
  readonly mark: string
  /**
   * `group`: as long as the end of the shell has not been observed, or if this program ended it. `mark`: for processes
   * that a finished command left behind. The number of an empty group may be reused, so only processes with the mark
   * belong to the command.
   */
  readonly knownBy: 'group' | 'mark'
  /** State before the first process of the group started, from `processMoment`; undefined if unknown. */
  readonly started?: ProcessMoment | undefined
  /** Detached processes no longer belong to the group: they may continue. */
  readonly leaves?: 'detached' | undefined
  /**
   * The first process of the group monitors the command, and ends all of it when it ends itself. So it must end last,
   * like bubblewrap.
   */
  readonly hasMonitor?: true
}

/** The variable with the marks; a nested agent adds its own to the inherited ones. */
export const markVariable = 'HALTING_CALL'

const scan = new ProcessScan()
const pollMs = 15
const goneAfterKillMs = 2000
const maxKillRounds = 10

/** Call this before the first process of a group starts: it makes scans faster. */
export function processMoment(): ProcessMoment | undefined {
  return process.platform === 'linux' ? scan.moment() : undefined
}

/**
 * Sends SIGTERM to the whole group, and SIGKILL to the remaining processes after the grace time. Resolves when none of
 * them is running.
 */
export async function endGroup(group: ProcessGroup, graceMs: number): Promise<void> {
  if (group.hasMonitor === true) await endBehindMonitor(group, graceMs)
  else signalMembers(group, await membersInTurns(group), 'SIGTERM')
  if (!(await isGoneWithin(group, graceMs))) await killAll(group)
}

/** Kills all found processes, and processes that they started meanwhile, until no more are found. */
async function killAll(group: ProcessGroup): Promise<void> {
  const deadline = performance.now() + goneAfterKillMs
  let found = await membersInTurns(group)
  signalMembers(group, found, 'SIGKILL')
  if (found === undefined) await isGoneWithin(group, goneAfterKillMs)
  const killed = new Set((found ?? []).map(identityOf))
  while (found !== undefined && found.length > 0 && performance.now() < deadline) {
    // oxlint-disable-next-line no-await-in-loop -- what is found next depends on what was killed
    found = await membersInTurns(group)
    // oxlint-disable-next-line no-await-in-loop -- what was killed needs a moment
    if (!killOthers(found ?? [], killed)) await wait(pollMs)
  }
}

/** Kills processes that are not in `killed`. Returns whether there were any. */
function killOthers(found: readonly Member[], killed: Set<string>): boolean {
  const others = found.filter((member) => !killed.has(identityOf(member)))
  for (const member of others) {
    killed.add(identityOf(member))
    signalMember(member, 'SIGKILL')
  }
  return others.length > 0
}

function identityOf({ processId, startedAt }: Member): string {
  return `${processId} ${startedAt}`
}

// Spec R-EBASH-6.
/** Ends the monitor last: until then, programs have their usual time to remove a lock or a temporary file. */
async function endBehindMonitor(group: ProcessGroup, graceMs: number): Promise<void> {
  const { groupId } = group
  const others = async (): Promise<readonly Member[]> =>
    ((await membersInTurns(group)) ?? []).filter(({ processId }) => processId !== groupId)
  send(groupId, 'SIGSTOP')
  for (const member of await others()) signalMember(member, 'SIGTERM')
  if ((await areGoneWithin(others, graceMs)) || (await others()).length === 0) send(groupId, 'SIGCONT')
  else signalMembers(group, await membersInTurns(group), 'SIGKILL')
}

async function isGoneWithin(group: ProcessGroup, limitMs: number): Promise<boolean> {
  const members = async (): Promise<readonly Member[] | undefined> => membersInTurns(group)
  return areGoneWithin(members, limitMs, () => !send(-group.groupId, 0))
}

/** Waits until processes have ended. While one of the found processes is running, no others are searched. */
async function areGoneWithin(
  find: () => Promise<readonly Member[] | undefined>,
  limitMs: number,
  areGone = (): boolean => true,
): Promise<boolean> {
  const deadline = performance.now() + limitMs
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- looks again after a moment
    const members = await find()
    if (members === undefined ? areGone() : members.length === 0) return true
    do {
      if (performance.now() >= deadline) return false
      // oxlint-disable-next-line no-await-in-loop -- looks again after a moment
      await wait(pollMs)
    } while (members?.some((member) => scan.runs(member)) === true)
  }
}

/** Kills the whole group at once, without waiting; also usable during the exit of the program. */
export function killGroup(group: ProcessGroup): void {
  let found = membersOf(group)
  signalMembers(group, found, 'SIGKILL')
  const killed = new Set((found ?? []).map(identityOf))
  // Repeats for processes that were started before their parent was killed.
  for (let round = 0; round < maxKillRounds && found !== undefined && found.length > 0; round += 1) {
    found = membersOf(group)
    if (!killOthers(found ?? [], killed)) return
  }
}

function signalMembers(
  group: ProcessGroup,
  members: readonly Member[] | undefined,
  signal: 'SIGTERM' | 'SIGKILL',
): void {
  const isOurs = group.knownBy === 'group' || members === undefined
  if (isOurs) send(-group.groupId, signal)
  for (const member of members ?? []) {
    if (!isOurs || member.groupId !== group.groupId) signalMember(member, signal)
  }
}

/** Finding a whole group takes time, in which a process number may be reused. */
function signalMember(member: Member, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (scan.runs(member)) send(member.processId, signal)
}

export function isRunning(group: ProcessGroup): boolean {
  return isAnyRunning(group, membersOf(group))
}

/** The same; returns a promise if the check takes long. */
export function isRunningInTurns(group: ProcessGroup): boolean | Promise<boolean> {
  const members = membersInTurns(group)
  return members instanceof Promise ? members.then((found) => isAnyRunning(group, found)) : isAnyRunning(group, members)
}

function isAnyRunning(group: ProcessGroup, members: readonly Member[] | undefined): boolean {
  return members === undefined ? send(-group.groupId, 0) : members.length > 0
}

function send(target: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 0): boolean {
  try {
    return process.kill(target, signal)
  } catch (thrown) {
    // EPERM: the process exists and belongs to another user.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

/** Returns processes of a command that left its group, such as a server that detached itself. Empty without /proc. */
export function detachedOf(group: ProcessGroup): readonly number[] {
  const all: ProcessGroup = { ...group, knownBy: 'group', leaves: undefined }
  return (membersOf(all) ?? [])
    .filter(({ groupId, isMarked }) => isMarked && groupId !== group.groupId)
    .map(({ processId }) => processId)
}

/**
 * Returns running processes of the group, without zombies: an init process that does not reap them leaves them
 * forever. Undefined without /proc.
 */
function membersOf(group: ProcessGroup): readonly Member[] | undefined {
  return process.platform === 'linux' ? ourMembers(group, scan.find(group)) : undefined
}

/** The same; returns a promise if the search takes long. */
function membersInTurns(group: ProcessGroup): readonly Member[] | undefined | Promise<readonly Member[] | undefined> {
  if (process.platform !== 'linux') return undefined
  const found = scan.findInTurns(group)
  return found instanceof Promise ? found.then((members) => ourMembers(group, members)) : ourMembers(group, found)
}

function ourMembers(group: ProcessGroup, found: readonly Member[] | undefined): readonly Member[] | undefined {
  if (found === undefined || group.knownBy === 'group') return found
  if (found.some((member) => member.isMarked && member.groupId === group.groupId)) return found
  return found.filter((member) => member.isMarked)
}
