/** A server that requires authentication, which is not possible here. */
export class NeedsSignIn extends Error {}
