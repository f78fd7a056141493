/** The newest storage format that this version reads. A worker does not touch what a later version wrote. */
export const storageFormat = 2

/** The format that earlier versions read, too. Used for everything that needs no feature of the later one. */
export const compatibleFormat = 1

/** The format of the steps that hold records. A version with other steps has its own number. */
const stepFormat = 1

/**
 * Name of the steps that hold records. It contains the format, so a worker of another format asks for a step that is not on record: the engine stops its attempt before anything
 * is read or written. The format of a batch is in the batch.
 */
export const recordsStep: string = `records of format ${stepFormat}`

/** Message of a worker about a session that a later version wrote. */
export function newerFormatMessage(format: number): string {
  return `This session was written in format ${format} by another version; this worker reads ${storageFormat}. A worker of that version can go on with it.`
}
