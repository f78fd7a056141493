import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'

/** The result of one check. `broken`: no run can start. `note`: a part works less well than it could. */
export interface Finding {
  readonly what: string
  readonly state: 'good' | 'note' | 'broken'
  readonly says: string
  /** How to fix it. */
  readonly todo?: string
}

/** What is checked. */
export interface DoctorContext extends Pick<Program, 'env' | 'cwd'> {
  readonly flags: Flags
  /** The user's home directory. */
  readonly home: string
}
