import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ChangeRecord, FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { absent, isSameState, stateInPlace, statsAt, type PathState } from './path-state.ts'

/** A file that is not restored, and why. */
export interface LeftFile {
  /** Path of the file. */
  readonly path: string
  /** Why the file is left unchanged. */
  readonly why: string
}

/** The changes that restore earlier file states. */
export interface RevertPlan {
  /** Changes from the current to the wanted states, ordered by path. */
  readonly changes: readonly FileChange[]
  /** Files that someone else has changed, or whose content is not stored. */
  readonly left: readonly LeftFile[]
  /** Paths that may have changed in unknown ways. */
  readonly unknown: readonly string[]
  /** Numbers of the records that this plan reverts. */
  readonly takes: readonly number[]
}

/** A run with file changes that were not reverted, and its first record. */
export interface ChangedRun {
  /** Id of the run. */
  readonly run: string
  /** Number of its first record. */
  readonly first: number
  /** Paths of the files that it changed. */
  readonly paths: readonly string[]
}

export function changedRuns(records: readonly ChangeRecord[]): readonly ChangedRun[] {
  const reverted = revertedRecords(records)
  const runs = new Map<string, { run: string; first: number; paths: Set<string> }>()
  for (const [index, record] of records.entries()) {
    if (reverted.has(index) || (record.type !== 'change' && record.type !== 'command_end')) continue
    if (record.changes.length === 0) continue
    const found = runs.get(record.run) ?? { run: record.run, first: index, paths: new Set() }
    runs.set(record.run, found)
    for (const { path } of record.changes) found.paths.add(path)
  }
  return [...runs.values()].map(({ run, first, paths }) => ({ run, first, paths: [...paths].toSorted() }))
}

/** The last undo or rewind of files that was not redone: the target of a redo. */
export function lastRestore(records: readonly ChangeRecord[]): number | undefined {
  const restores = restoresIn(records)
  const redone = new Set(restores.map(({ record }) => record.of))
  return restores.findLast(({ record, at }) => record.kind !== 'redo' && !redone.has(at))?.at
}

/** The plan that restores the files as they were before this record. */
export async function revertPlanFrom(
  records: readonly ChangeRecord[],
  first: number,
  contents: ContentStore,
): Promise<RevertPlan> {
  const reverted = revertedRecords(records)
  const takes: number[] = []
  const unknown: string[] = []
  const ended = new Set(records.flatMap((record) => (record.type === 'command_end' ? [record.of] : [])))
  for (const [index, record] of records.entries()) {
    if (index < first || reverted.has(index)) continue
    if (record.type === 'command_start' && !ended.has(index))
      unknown.push(`a command was interrupted (${record.command}): what it changed is unknown`)
    if (record.type === 'command_end') unknown.push(...record.unseen)
    if (record.type === 'change' || record.type === 'command_end' || record.type === 'command_start') takes.push(index)
  }
  const found = await compare(historiesSince(records, first), contents)
  return { ...found, unknown: [...new Set(unknown)], takes }
}

/** The plan that restores the files as they were before this restore. */
export async function redoPlan(
  records: readonly ChangeRecord[],
  at: number,
  contents: ContentStore,
): Promise<RevertPlan> {
  const histories = new Map<string, readonly Step[]>()
  for (const change of changesOf(records, at)) histories.set(change.path, [{ ...change, isInAdvance: false }])
  const found = await compare(histories, contents)
  const record = records[at]
  return { ...found, unknown: [], takes: record?.type === 'restore_start' ? record.takes : [] }
}

/**
 * Restores that changed something or had nothing to change. A restore that left every file unchanged can be repeated.
 */
function restoresIn(
  records: readonly ChangeRecord[],
): readonly { readonly record: Extract<ChangeRecord, { readonly type: 'restore_start' }>; readonly at: number }[] {
  return records.flatMap((record, at) => {
    if (record.type !== 'restore_start') return []
    const hadNoEffect = record.changes.length > 0 && changesOf(records, at).length === 0
    return hadNoEffect ? [] : [{ record, at }]
  })
}

/** Records that were reverted and not redone since. */
function revertedRecords(records: readonly ChangeRecord[]): ReadonlySet<number> {
  const reverted = new Set<number>()
  for (const { record } of restoresIn(records)) {
    for (const index of record.takes) {
      if (record.kind === 'redo') reverted.delete(index)
      else reverted.add(index)
    }
  }
  return reverted
}

/**
 * One change of a path. A change recorded in advance may not have happened: the disk was full, or the process was
 * killed.
 */
interface Step extends FileChange {
  readonly isInAdvance: boolean
  /** For a folder that was created or removed together with a file in it. */
  readonly isFolderStep?: boolean
}

/** The changes of each path since then, in order. */
function historiesSince(records: readonly ChangeRecord[], first: number): ReadonlyMap<string, readonly Step[]> {
  const histories = new Map<string, Step[]>()
  const add = (step: Step): void => {
    const before = histories.get(step.path)
    if (before === undefined) histories.set(step.path, [step])
    else before.push(step)
  }
  for (let index = first; index < records.length; index++) {
    const changes = changesOf(records, index)
    const named = new Set(changes.map(({ path }) => path))
    for (const change of changes) {
      for (const path of change.madeFolders ?? []) if (!named.has(path)) add(folderStep(path, change.after))
      add({ ...change, isInAdvance: records[index]?.type === 'change' })
    }
  }
  return histories
}

/** A folder is created with its first file and removed with its last one. */
function folderStep(path: string, file: PathState): Step {
  const folder: PathState = { kind: 'folder' }
  const [before, after] = file.kind === 'absent' ? [folder, absent] : [absent, folder]
  return { path, before, after, isInAdvance: true, isFolderStep: true }
}

/** Whether this step may have resulted in this state. */
function mayResultIn({ before, after, isInAdvance }: Step, state: PathState): boolean {
  return isSameState(state, after) || (isInAdvance && isSameState(state, before))
}

/** Returns the changes of a record; for a restore, without files that were left unchanged. */
function changesOf(records: readonly ChangeRecord[], index: number): readonly FileChange[] {
  const record = records[index]
  switch (record?.type) {
    case 'change':
    case 'command_end':
      return record.changes
    case 'restore_start': {
      const end = records.find((other) => other.type === 'restore_end' && other.of === index)
      const left = new Set(end?.type === 'restore_end' ? end.left : [])
      return record.changes.filter(({ path }) => !left.has(path))
    }
    case 'command_start':
    case 'restore_end':
    case undefined:
      return []
  }
}

async function compare(
  histories: ReadonlyMap<string, readonly Step[]>,
  contents: ContentStore,
): Promise<Pick<RevertPlan, 'changes' | 'left'>> {
  const changes: FileChange[] = []
  const left: LeftFile[] = []
  for (const [path, history] of [...histories].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [first, last] = [history[0], history.at(-1)]
    if (first === undefined || last === undefined || history.every(({ isFolderStep: isAside }) => isAside)) continue
    const { state: now } = stateInPlace(path)
    const target = first.before
    if (isSameState(now, target)) continue
    const why = (await whyNotRestorable(path, histories, contents)) ?? whyChanged(now, last)
    if (why !== undefined) {
      left.push({ path, why })
      continue
    }
    const madeFolders = history.flatMap(({ madeFolders: made = [] }) => made)
    changes.push({ path, before: now, after: target, ...(madeFolders.length > 0 && { madeFolders }) })
  }
  return withoutNonEmptyFolders(...withFoldersAbove(changes, left))
}

/** Restores a file only if all of its parents will be folders: a path that is left unchanged may now be a file. */
function withFoldersAbove(
  changes: readonly FileChange[],
  left: readonly LeftFile[],
): [changes: readonly FileChange[], left: readonly LeftFile[]] {
  const targets = new Map(changes.map(({ path, after }) => [path, after.kind]))
  const inTheWay = (path: string): string | undefined =>
    foldersAbove(path).find((above) => {
      const target = targets.get(above)
      if (target !== undefined) return target !== 'absent' && target !== 'folder'
      return statsAt(above)?.isDirectory() === false
    })
  const restorable: FileChange[] = []
  const blocked: LeftFile[] = []
  for (const change of changes) {
    const above = change.after.kind === 'absent' ? undefined : inTheWay(change.path)
    if (above === undefined) restorable.push(change)
    else blocked.push({ path: change.path, why: `${above} is not a folder` })
  }
  return [restorable, [...left, ...blocked]]
}

/** Removes a folder only if everything in it is removed. */
function withoutNonEmptyFolders(
  changes: readonly FileChange[],
  left: readonly LeftFile[],
): { readonly changes: readonly FileChange[]; readonly left: readonly LeftFile[] } {
  const remaining = new Map(changes.map((change) => [change.path, change]))
  const full: LeftFile[] = []
  // Deepest first: a remaining entry also retains the folders above it.
  for (const { path, before, after } of changes.toReversed()) {
    if (before.kind !== 'folder' || after.kind === 'folder') continue
    const staying = namesIn(path).find(
      (name) => remaining.get(join(path, name))?.after.kind !== 'absent' && !isMade(join(path, name), remaining),
    )
    if (staying === undefined) continue
    remaining.delete(path)
    full.push({ path, why: `${staying} in it is not removed` })
  }
  const all = [...left, ...full].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return { changes: [...remaining.values()], left: all }
}

/** Whether a change created this folder; the folder is removed with the file if nothing else is in it. */
function isMade(path: string, changes: ReadonlyMap<string, FileChange>): boolean {
  const made = [...changes.values()].some(
    ({ after, madeFolders }) => after.kind === 'absent' && madeFolders?.includes(path) === true,
  )
  return (
    made &&
    namesIn(path).every(
      (name) => changes.get(join(path, name))?.after.kind === 'absent' || isMade(join(path, name), changes),
    )
  )
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function whyChanged(now: PathState, last: Step): string | undefined {
  if (now.kind === 'unkept' && last.after.kind === 'unkept') return `it ${now.why}, so the undo could not be reversed`
  if (mayResultIn(last, now)) return undefined
  if (now.kind === 'absent') return 'it was deleted outside of halting since then'
  return 'it was changed outside of halting since then'
}

async function whyNotRestorable(
  path: string,
  histories: ReadonlyMap<string, readonly Step[]>,
  contents: ContentStore,
): Promise<string | undefined> {
  const history = histories.get(path) ?? []
  const target = history[0]?.before ?? absent
  const above = linkAbove(path)
  const putBack = above === undefined ? undefined : histories.get(above)?.[0]?.before
  if (above !== undefined && (putBack === undefined || putBack.kind === 'link'))
    return `${above} is now a symbolic link`
  for (const [index, step] of history.entries()) {
    const next = history[index + 1]
    if (next !== undefined && !mayResultIn(step, next.before))
      return 'it was changed outside of halting in the meantime'
  }
  if (target.kind === 'unkept') return `its earlier content was not saved: it ${target.why}`
  if (target.kind === 'file' && (await contents.read(target.sha256)) === undefined)
    return 'its earlier content is no longer saved'
  return undefined
}

/** The first folder above that is a link. */
function linkAbove(path: string): string | undefined {
  return foldersAbove(path).find((folder) => statsAt(folder)?.isSymbolicLink())
}

/** The highest first, without the root. */
function foldersAbove(path: string): readonly string[] {
  const above: string[] = []
  for (let folder = dirname(path); dirname(folder) !== folder; folder = dirname(folder)) above.unshift(folder)
  return above
}
