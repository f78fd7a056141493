import { ConfigurationError } from '../values/errors.ts'
import type { Rewound } from './session.ts'

/** No file was changed back. */
export const nothingChanged: Omit<Rewound, 'content'> = Object.freeze({
  files: [],
  insertions: 0,
  deletions: 0,
  left: [],
})

export function notKept(): ConfigurationError {
  return new ConfigurationError('This session is not kept on disk, so there is nothing to go back to or to copy.')
}
