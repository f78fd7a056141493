import { createHash } from 'node:crypto'
import { folderTrust, type Offer, type TrustOwner } from '@halting/policy'

/** Whether what a folder brings counts; nobody looks before it matters. */
export interface BriefingTrust {
  /** Whether one thing that the folder offers may take effect. */
  lets(offer: Offer): Promise<boolean>
}

/** `once`: what trusts the folder for this run, such as `--trust`. */
export function briefingTrust(
  owner: TrustOwner & {
    /** What trusts the folder for this run; false: nothing does; undefined: the records decide. */
    readonly once?: string | false | undefined
  },
): BriefingTrust {
  let asked: ReturnType<typeof folderTrust> | undefined
  return {
    async lets(offer) {
      asked ??= folderTrust(owner)
      return (await asked).lets(offer)
    },
  }
}

/** One thing that a text of the project would have read or run: it is known again by exactly this. */
export function briefingOffer(
  setting: 'imports' | 'commands' | 'agents',
  text: string,
  ...of: readonly string[]
): Offer {
  const id = createHash('sha256')
    .update(JSON.stringify([setting, text, ...of]))
    .digest('hex')
    .slice(0, 32)
  return { setting, text, needsNaming: false, id }
}
