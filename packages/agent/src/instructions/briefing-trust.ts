import { createHash } from 'node:crypto'
import { folderTrust, type Offer, type TrustOwner } from '@halting/policy'

/** Decides whether content of a folder is trusted. Trust records are read on demand. */
export interface BriefingTrust {
  /** Whether one item of the folder may take effect. */
  lets(offer: Offer): Promise<boolean>
}

/** `once`: what makes the folder trusted for this run, such as `--trust`. */
export function briefingTrust(
  owner: TrustOwner & {
    /**
     * The reason why the folder is trusted for this run. False: the folder is not trusted. Undefined: the stored
     * decisions apply.
     */
    readonly once?: string | false | undefined
  },
): BriefingTrust {
  let folder: ReturnType<typeof folderTrust> | undefined
  return {
    async lets(offer) {
      folder ??= folderTrust(owner)
      return (await folder).lets(offer)
    },
  }
}

/** Identifies one item that a project file would read or run, by exactly this content. */
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
