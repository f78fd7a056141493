import { readFileSync } from 'node:fs'
import { memoizeByObject, memoizeByPair, RecentTexts } from '../shell/memoize.ts'
import { isExactPath, isInside } from './paths.ts'

/** A line of /proc/self/mountinfo: which folder of a device is mounted where. */
export interface Mount {
  readonly device: string
  /** The folder on the device that is mounted at `point`. */
  readonly root: string
  readonly point: string
  readonly type: string
}

/** Only Linux has this file; empty elsewhere. */
function mountinfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , device, root, point, ...rest] = line.split(' ')
    const type = rest[rest.indexOf('-') + 1]
    if (device === undefined || root === undefined || point === undefined || type === undefined) return []
    return [{ device, root: unescaped(root), point: unescaped(point), type }]
  })
}

/** The mount that contains a path. Of mounts at the same point the last one hides the others. */
export function mountOf(path: string, known: readonly Mount[]): Mount | undefined {
  const { innermostFirst, recent } = tableOf(known)
  const before = recent.get(path)
  if (before !== undefined) return before
  const found = innermostFirst.find(({ point }) => isInside(path, point))
  if (found !== undefined) recent.set(path, found)
  return found
}

const tableOf = memoizeByObject((known: readonly Mount[]) => ({
  innermostFirst: known.toReversed().toSorted((one, other) => other.point.length - one.point.length),
  recent: new RecentTexts<Mount>(500, 500),
}))

/** Other mounts of the same device. */
export const otherMountsOfDevice: (mount: Mount, known: readonly Mount[]) => readonly Mount[] = memoizeByPair(
  (mount, known) => known.filter((other) => other !== mount && other.device === mount.device),
)

/** The type of the file system of a path, by the current mounts; undefined if that is unknown. */
export function mountTypeOf(path: string): string | undefined {
  return mountOf(path, parseMounts(mountinfo()))?.type
}

function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_all, code: string) => String.fromCodePoint(Number.parseInt(code, 8)))
}

/** File systems on local disks and in memory. Any other may wait for a network or a program. */
const localTypes: ReadonlySet<string> = new Set(
  'bcachefs btrfs erofs exfat ext2 ext3 ext4 f2fs hfs hfsplus iso9660 jfs msdos nilfs2 ntfs3 overlay ramfs reiserfs rootfs squashfs tmpfs udf vfat xfs zfs'.split(
    ' ',
  ),
)

/** How long the table of mounts is reused before it is read again, in milliseconds. */
const freshMs = 1_000
const maxKnown = 1_000

/** Which file systems may block the process, by the current mounts. */
export class LocalMounts {
  readonly #read: () => string
  readonly #now: () => number
  #text: string | undefined
  #readAt = -Infinity
  #mounts: readonly Mount[] = []
  /** Mount points of file systems that may block; undefined if they are unknown. */
  #remoteMountPoints: readonly string[] | undefined
  /** Answers from the current table, by path. Runs access the same files in every turn. */
  readonly #known = new Map<string, boolean>()

  constructor(read: () => string, now: () => number) {
    this.#read = read
    this.#now = now
  }

  /** All mounts. */
  get list(): readonly Mount[] {
    this.#refresh()
    return this.#mounts
  }

  /** Whether the path and all folders above it are on file systems that do not block. */
  isOnLocalMount(path: string): boolean {
    this.#refresh()
    const known = this.#known.get(path)
    if (known !== undefined) return known
    const waiting = this.#remoteMountPoints
    const isIn = waiting?.every((point) => !isInside(path, point)) === true && path.startsWith('/') && isExactPath(path)
    if (this.#known.size >= maxKnown) this.#known.clear()
    this.#known.set(path, isIn)
    return isIn
  }

  /** Reads the table again before the next answer. */
  expire(): void {
    this.#readAt = -Infinity
  }

  #refresh(): void {
    const now = this.#now()
    if (now - this.#readAt < freshMs) return
    this.#readAt = now
    const text = this.#read()
    if (text === this.#text) return
    this.#text = text
    this.#known.clear()
    const mounts = (this.#mounts = parseMounts(text))
    const isWhole = mounts.length > 0 && mounts.length === text.split('\n').filter(Boolean).length
    this.#remoteMountPoints = isWhole
      ? mounts.filter(({ type }) => !localTypes.has(type)).map(({ point }) => point)
      : undefined
  }
}

const localMounts = new LocalMounts(mountinfo, () => performance.now())

// Spec R-PLACE-7.
/**
 * Whether a real path is on a local disk or in memory, so that access does not wait for a network or another program. False if that is unknown, as
 * outside Linux.
 */
export function isOnLocalDisk(path: string): boolean {
  return localMounts.isOnLocalMount(path)
}

/** All mounts, at most `freshMs` old, because one tool call asks for them many times. */
export function currentMounts(): readonly Mount[] {
  return localMounts.list
}

/** Call this when a command has ended, as it may have mounted something. The table of mounts is read again before the next file is used. */
export function expireMounts(): void {
  localMounts.expire()
}
