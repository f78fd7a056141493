/** A server requires authentication, which is not possible in this session. */
export class NeedsSignIn extends Error {}
