package main

import (
	"crypto/elliptic"
	"crypto/sha256"
	"math/big"
	"strings"
)

// edges are the edge cases of ECDSA that Wycheproof's ecdsa_secp256r1_sha256_p1363 tries, made for our proofs: the genuine ones by the key that
// a signature of choice belongs to.
func edges() []proofCase {
	curve := elliptic.P256()
	n, p := curve.Params().N, curve.Params().P
	one := big.NewInt(1)
	plus := func(a *big.Int, b int64) *big.Int { return new(big.Int).Add(a, big.NewInt(b)) }
	parts := strings.Split(sign(signer, genuine, claims(nil)), ".")
	input := parts[0] + "." + parts[1]
	with := func(r, s *big.Int) string {
		return input + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	}
	var out []proofCase
	refused := func(name string, r, s *big.Int) {
		out = append(out, proofCase{Name: name, Guard: "signature", Proof: with(r, s), Code: "proof_signature_invalid"})
	}
	special := []struct {
		name  string
		value *big.Int
	}{{"0", big.NewInt(0)}, {"n", n}, {"n-1", plus(n, -1)}, {"n+1", plus(n, 1)}, {"p", p}, {"p+1", plus(p, 1)}}
	for _, v := range special {
		refused("r is "+v.name+" and s is 1, beside the order n and the prime p", v.value, one)
		refused("r is 1 and s is "+v.name+", beside the order n and the prime p", one, v.value)
		refused("r and s are "+v.name+", beside the order n and the prime p", v.value, v.value)
	}
	digest := sha256.Sum256([]byte(input))
	z := new(big.Int).SetBytes(digest[:])
	d := new(big.Int).SetBytes(must(signer.Bytes()))
	infinity := new(big.Int).Mul(new(big.Int).Neg(z), new(big.Int).ModInverse(d, n))
	refused("the sum is the point at infinity", infinity.Mod(infinity, n), one)

	// The point with the smallest x that is at least from.
	point := func(from *big.Int) (x, y *big.Int) {
		for x = new(big.Int).Set(from); ; x.Add(x, one) {
			square := new(big.Int).Exp(x, big.NewInt(3), p)
			square.Sub(square, new(big.Int).Mul(big.NewInt(3), x)).Add(square, curve.Params().B).Mod(square, p)
			if y = new(big.Int).ModSqrt(square, p); y != nil {
				return x, y
			}
		}
	}
	of := func(name string, x, y, s *big.Int) {
		set := object{"keys": []object{signedBy(z, x, y, s)}}
		out = append(out, proofCase{Name: name, Guard: "none", Proof: with(new(big.Int).Mod(x, n), s), JWKS: set})
	}
	gx, gy := curve.Params().Gx, curve.Params().Gy
	of("s is 1", gx, gy, one)
	of("s is n-1, the most", gx, gy, plus(n, -1))
	of("s is above n/2", gx, gy, plus(new(big.Int).Rsh(n, 1), 1))
	x, y := point(one)
	of("r and s are small", x, y, big.NewInt(6))
	x, y = point(plus(n, 1))
	// Java's verifier refuses even the genuine signature, which no one meets by chance, so that only the forged ones are in the kit.
	set := object{"keys": []object{signedBy(z, x, y, big.NewInt(7))}}
	r := new(big.Int).Mod(x, n)
	out = append(out, proofCase{Name: "r is the x of a point above n, not reduced", Guard: "signature", Proof: with(x, big.NewInt(7)), Code: "proof_signature_invalid", JWKS: set})
	return append(out, proofCase{Name: "r is one more than the x of its point", Guard: "signature", Proof: with(plus(r, 1), big.NewInt(7)), Code: "proof_signature_invalid", JWKS: set})
}

// signedBy returns the key Q by which s and the point (x, y) sign the digest z: s (x, y) = z G + r Q.
func signedBy(z, x, y, s *big.Int) object {
	//nolint:staticcheck // no other package of the standard library adds points
	add, times, base := elliptic.P256().Add, elliptic.P256().ScalarMult, elliptic.P256().ScalarBaseMult
	n := elliptic.P256().Params().N
	inverse := new(big.Int).ModInverse(new(big.Int).Mod(x, n), n)
	ax, ay := times(x, y, s.Bytes())
	bx, by := base(new(big.Int).Mod(new(big.Int).Neg(z), n).Bytes())
	sx, sy := add(ax, ay, bx, by)
	qx, qy := times(sx, sy, inverse.Bytes())
	return object{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1",
		"x": encode(qx.FillBytes(make([]byte, 32))), "y": encode(qy.FillBytes(make([]byte, 32))),
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
