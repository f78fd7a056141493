// Spec R-RES-11.
/**
 * Where a point of the run lies, as the record of a resume has it. `passed`: the record goes on behind the point. Guards,
 * hooks and rules that are not on record there are new, and do not count. `open`: the point is decided now.
 */
export type RecordPosition = 'passed' | 'open'
