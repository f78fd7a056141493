import type { Stats } from 'node:fs'
import type { OpenFile } from '@halting/policy/files'

/**
 * Copies owner, group and mode of the replaced file. Without the right to set the owner, retains the group if
 * possible, and never gives a user the rights of another user.
 */
export async function copyRights(
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
  // Runs after the change of owner, which clears these bits.
  await file.chmod(mode & (isGiven ? 0o7777 : 0o1777))
}
