import type { Face } from '../session/face.ts'

/** What only a host gives a session: nobody answers questions where it does not say so. */
export function faceOfHost(): Face {
  return { answersQuestions: false }
}
