/** A Node with long-term support: `bin` is the folder that `node` is in; where it cannot be had, `why`. */
export interface FoundNode {
  readonly title: string
  readonly bin?: string
  readonly why?: string
}
export function nodesToTry(): readonly FoundNode[]
export function newestNode(): FoundNode
export function installedNode(): FoundNode
