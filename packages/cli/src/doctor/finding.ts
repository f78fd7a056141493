import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'

/** One thing that was looked at. `broken`: no run can begin as it is. `note`: something works otherwise than it might. */
export interface Finding {
  readonly what: string
  readonly state: 'good' | 'note' | 'broken'
  readonly says: string
  /** What to do about it. */
  readonly todo?: string
}

/** What is looked at. */
export interface DoctorContext extends Pick<Program, 'env' | 'cwd'> {
  readonly flags: Flags
  /** The person's own folder. */
  readonly home: string
}
