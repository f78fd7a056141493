/** The newest format of what is stored of a session that this version reads. A worker leaves alone what a later one wrote. */
export const storageFormat = 2

/** What earlier versions read, too: what has nothing of the later format in it is written in this one. */
export const compatibleFormat = 1

/** The format of the steps that hold records: a version with other steps takes the number of its own format. */
const stepFormat = 1

/**
 * The name of the steps that hold records. It holds the format: a worker of another one asks for another step than the one that is on record, so the engine stops its
 * attempt before anything is read, and nothing is written that the right worker would stumble over. What a batch is written in stands in the batch.
 */
export const recordsStep: string = `records of format ${stepFormat}`

/** What a worker says of a session that a later one wrote. */
export function newerFormatMessage(format: number): string {
  return `This session was written in format ${format} by another version; this worker reads ${storageFormat}. A worker of that version can go on with it.`
}
