import type { Stats } from 'node:fs'
import type { OpenFile } from '@halting/policy/files'

/** Owner, group and mode of the file that it replaces. Who may not give it its owner keeps its group where that may be, and gives nobody the rights of another one. */
export async function takeOverRights(
  file: OpenFile,
  { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>,
): Promise<void> {
  const own = await file.stat()
  const gives = (owner: number): Promise<boolean> =>
    file.chown(owner, gid).then(
      () => true,
      () => false,
    )
  const isSame = own.uid === uid && own.gid === gid
  const isGiven = isSame || (await gives(uid))
  if (!isGiven) await gives(own.uid)
  // After its owner: a change of that takes these bits away.
  await file.chmod(mode & (isGiven ? 0o7777 : 0o1777))
}
