import { readFileSync } from 'node:fs'
import { memoizeByObject, memoizeByPair, RecentTexts } from '../shell/memoize.ts'
import { isExactPath, isInside } from './paths.ts'

/** A line of /proc/self/mountinfo: what of a device is seen where. */
export interface Mount {
  readonly device: string
  /** The folder on the device that is seen at `point`. */
  readonly root: string
  readonly point: string
  readonly type: string
}

/** Only Linux has it: empty elsewhere. */
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

/** The mount that a path lies in: the last one of the longest point hides those before it. */
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

/** Other places where something of the same device is seen. */
export const otherMountsOfDevice: (mount: Mount, known: readonly Mount[]) => readonly Mount[] = memoizeByPair(
  (mount, known) => known.filter((other) => other !== mount && other.device === mount.device),
)

/** The type of the file system that a path is on, by what is mounted at this moment; undefined where that is not known. */
export function mountTypeOf(path: string): string | undefined {
  return mountOf(path, parseMounts(mountinfo()))?.type
}

function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_all, code: string) => String.fromCodePoint(Number.parseInt(code, 8)))
}

/** Types of file systems on disks of this machine and in its memory. Any other may wait for a network, or for a program. */
const localTypes: ReadonlySet<string> = new Set(
  'bcachefs btrfs erofs exfat ext2 ext3 ext4 f2fs hfs hfsplus iso9660 jfs msdos nilfs2 ntfs3 overlay ramfs reiserfs rootfs squashfs tmpfs udf vfat xfs zfs'.split(
    ' ',
  ),
)

/** A mount that comes while the program runs counts after so long, in milliseconds. */
const freshMs = 1_000
const maxKnown = 1_000

/** On which file systems the process may wait, by what is mounted. */
export class LocalMounts {
  readonly #read: () => string
  readonly #now: () => number
  #text: string | undefined
  #readAt = -Infinity
  #mounts: readonly Mount[] = []
  /** Mount points of file systems that may wait; undefined where they are not known. */
  #remoteMountPoints: readonly string[] | undefined
  /** Answers by this table: the same files are looked at turn after turn. */
  readonly #known = new Map<string, boolean>()

  constructor(read: () => string, now: () => number) {
    this.#read = read
    this.#now = now
  }

  /** All that is mounted. */
  get list(): readonly Mount[] {
    this.#refresh()
    return this.#mounts
  }

  /** Whether neither the path nor a folder above it is on a file system that may wait. */
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
 * Whether a real path is on a disk of this machine, or in its memory, so that who uses it need not wait for a network or another program. False
 * where that is not known, as outside of Linux.
 */
export function isOnLocalDisk(path: string): boolean {
  return localMounts.isOnLocalMount(path)
}

/** What is mounted, of a moment ago: one call asks many times. */
export function currentMounts(): readonly Mount[] {
  return localMounts.list
}

/** To be called when a command has ended, which may have mounted something: the table of mounts is read again before the next file is used. */
export function expireMounts(): void {
  localMounts.expire()
}
