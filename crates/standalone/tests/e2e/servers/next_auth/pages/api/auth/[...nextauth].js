// As https://next-auth.js.org/configuration/providers/oauth has it.
import NextAuth from 'next-auth'

export default NextAuth({
  providers: [
    {
      id: 'holdfast',
      name: 'Holdfast',
      type: 'oauth',
      wellKnown: `${process.env.HOLDFAST}/.well-known/openid-configuration`,
      authorization: { params: { scope: 'openid email profile' } },
      idToken: true,
      checks: ['pkce', 'state'],
      clientId: process.env.CLIENT_ID,
      clientSecret: process.env.CLIENT_SECRET,
      client: { id_token_signed_response_alg: process.env.ALGORITHM },
      profile: ({ sub, preferred_username, email, picture }) => ({
        id: sub,
        name: preferred_username,
        email,
        image: picture,
      }),
    },
  ],
})
