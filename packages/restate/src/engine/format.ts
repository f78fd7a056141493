/** What everything that is kept of a session looks like. A worker leaves alone what a later one wrote. */
export const keptFormat = 1

/**
 * The name of the steps that hold records. It holds the format: a worker of another one asks for another step than the one that is on record, so the engine stops its
 * attempt before anything is read, and nothing is written that the right worker would stumble over.
 */
export function recordsStep(format: number): string {
  return `records of format ${format}`
}

/** What a worker says of a session that a later one wrote. */
export function laterFormat(format: number): string {
  return `This session was written in format ${format} by another version; this worker reads ${keptFormat}. A worker of that version can go on with it.`
}
