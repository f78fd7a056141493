/** Calls that may have changed something, and the last of them. JSON. */
export type Changes = {
  readonly calls: number
  /** Index of the transcript entry that its result is in: results in entries before are older. */
  readonly at: number
  /** The call; null for work beside the run. Results before its own in that entry are older, too. */
  readonly by: string | null
}

/** Calls so far that may have changed something, of a run's progress. */
export function changesOf({ changes }: { readonly changes?: Changes | undefined }): number {
  return changes?.calls ?? 0
}
