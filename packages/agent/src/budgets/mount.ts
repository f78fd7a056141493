import { statfsSync } from 'node:fs'
import { mountTypeOf } from '@halting/policy/files'

// Several machines may write what is on a network mount, and their locks do not hold each other off.

/** File systems by the number that Linux has for their kind (statfs(2)). */
const networkKinds: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
  [0x564c, 'NCP'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0xaad7aaea, 'PanFS'],
  [0x786f4256, 'VirtualBox shared folder'],
  [0xbacbacbc, 'VMware shared folder'],
])

const fuse = 0x65735546

/** Kinds of FUSE that keep their files on a disk of this machine. */
const localFuse = /^(?:fuseblk|fuse\.(?:fuse-overlayfs|bindfs|gocryptfs|encfs|cryfs|mergerfs|ntfs-3g|ntfs|exfat))$/

/** Which network file system a folder is on; undefined for a disk of this machine, and where the system does not say. */
export function networkMountOf(
  folder: string,
  statfs: (path: string) => { type: number } = statfsSync,
): string | undefined {
  // The numbers are those of Linux.
  if (process.platform !== 'linux') return undefined
  let type: number
  try {
    // On machines with numbers of 32 bits the kernel's is negative.
    type = statfs(folder).type >>> 0
  } catch {
    return undefined
  }
  if (type !== fuse) return networkKinds.get(type)
  const kind = mountTypeOf(folder)
  return kind !== undefined && localFuse.test(kind) ? undefined : (kind ?? 'FUSE')
}
