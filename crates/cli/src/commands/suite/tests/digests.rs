//! The digests of everything built in stay what they are, from release to release:
//! `compare` recognises the same work by them.

use clap::Parser;
use smbench_formats::profile;
use smbench_model::plan::Plan;

use super::resolved;
use crate::args::RunArgs;
use crate::requests;
use crate::suite::BUILTIN;

/// The profiles with every option at its default.
const PROFILES: [(&str, &str); 23] = [
    (
        "file-server",
        "4df225ee9318cf5dd05ba5c24b2c46a2eda766695b63662b4de0fbcfa5c8465e",
    ),
    (
        "web-server",
        "7b131bf95a97a48c75a14c70b647e704d2c93d51abe3a2c761aada9b20a36a45",
    ),
    (
        "read-4k",
        "eea4ac62d2e446e903d101cbddd6f5fb739ba8a0c26a82e3fbe9fa0459bf9e3d",
    ),
    (
        "metadata",
        "26ccf73f23e688187541810736d183951ce5a1a2c5d00d2d7d990c3753ca58f5",
    ),
    (
        "list",
        "0b9bba113bbb9e7e4e6da7aa4b9bec34a88d032c9d6fc7b603e3463ee72e7112",
    ),
    (
        "stat",
        "61d4ccf1bdf3e97bf699cb32259afa057a991ee756500689cba2ccde4f7632a9",
    ),
    (
        "browse",
        "b1956528ad1de2274bfb0cded57984761a77d4e7220e0796278999888412a5e0",
    ),
    (
        "browse-changing",
        "c7d258a5fb938a053081feac382e580e18bfe53cc4818d1269f22e013baab2f9",
    ),
    (
        "finder-browse",
        "a14a204306261ea60ba9c8d2dbca3ab82a07f15938106a0b6f24fe1f70059212",
    ),
    (
        "notify-fanout",
        "570624592ad28f4bf5c66f8fcfebb06e26b27c02f0d0893770ee852004f2fa54",
    ),
    (
        "neighbour",
        "d9a3a4622ddc4d6d099925e1a1beee2d461125f0285aa85ba3df211b9806028c",
    ),
    (
        "untar",
        "2deb854a8e1aaab67814a1bc4c3660c8511121a49a4826d699a44f48331f3a4a",
    ),
    (
        "copy-in",
        "9735869eabcd43206e68abd1f970ccdf6cda15c870b37c80b9a4e93bf5587ef2",
    ),
    (
        "copy-out",
        "c686b212b009f2360fdc83fc91c6e68bd26f9a32cbbb90d0990c00eefb4e47c2",
    ),
    (
        "walk",
        "d7dc14ab6822f2d19151cc1da8626991be52be6dbee2b1d93bb7c5d6e87121b0",
    ),
    (
        "office-save",
        "66ff1e227ef316c1da77febc61dd88e2d4dd489cf58f01fa3f4de0c03079ac8b",
    ),
    (
        "logons",
        "f6ff587900a48ca8978f9806db1731ba769b7d183add5d6a303925f3d9f68559",
    ),
    (
        "all-commands",
        "e4ae8b8bf0d2795189871534713844df94423d4ee667908cd08e49d724e06610",
    ),
    (
        "netbench-like",
        "0647c80eeededf31a8b37565ee08b70ecb2cd4386ba88521d6389e29577fe065",
    ),
    (
        "netbench-like-oplocks",
        "37a91f663dbe0a1cc321b26e0dc8a6d0fc71f65c7a2bb0bc024475a377e7b52c",
    ),
    (
        "stream-2k-24",
        "2771074ef1e622f01dedf1ad2d74a8bf386d563a45fdf4e9aa13fd8f66f793f4",
    ),
    (
        "stream-uhd-24",
        "0a2098c2b7c0144c659bedbd4856edc775caca12630516840ce10729b39b2178",
    ),
    (
        "stream-4k-24",
        "55999be138c726de794f1ecc880ef0003b64be5b0463b117d300dedc4dd2a516",
    ),
];

/// The profiles of the suites with every option at its default, in the order of a suite.
const SUITES: [(&str, &[(&str, &str)]); 10] = [
    (
        "adapter",
        &[
            (
                "transmit-128B",
                "8fdca21cb4c99e4accc151cf7e68c816902f0124beefaa5962620c020f205a0e",
            ),
            (
                "transmit-256B",
                "3c7cebda8b9477b6119560fa3d53ea9378140945927efc4672eb7b09177fa582",
            ),
            (
                "transmit-512B",
                "541d0bac5d5011d77c13055aef9c95a1b586ca2b8061122026227519b987a4a5",
            ),
            (
                "transmit-1KiB",
                "749a70351c7259d1ba8865b04fa29edff08d78658212d1582e6da2cf98acc2ec",
            ),
            (
                "transmit-2KiB",
                "01f5e1759be67a957285d59a114ab14e5528f304c8b8df83b9abbc6741f916ea",
            ),
            (
                "transmit-4KiB",
                "2fbba2e75fe059ea5ba4eeb16285f6185f6520d556ed56b71012adc1447f23ee",
            ),
            (
                "transmit-8KiB",
                "f655b95e14760851848bd9e598399eb0c7b22d2818ffc164f65ff227851d616f",
            ),
            (
                "transmit-16KiB",
                "030d747c2dfa855d775bd0b09cd9a7423ed2a92ffa2a051d91f153d0ff389899",
            ),
            (
                "transmit-32KiB",
                "4d05803a0ab754b5a4e3c699454491a6bd8b4e5f6f2f65a0e3d0b2324cb6acec",
            ),
            (
                "transmit-64KiB",
                "90df19a6ca95fc8e502f68143deda17b7d097e95198158b24076c3149516748d",
            ),
            (
                "transmit-128KiB",
                "50c465bd6204b3b98cd51849c9be1c4b1c588e70b3e7733e74d7a78fb6c2d37d",
            ),
            (
                "transmit-256KiB",
                "756659e533349b7bc7c15ba7656afc8202e37e5bffa4a18fdb2a423ef6d115e7",
            ),
            (
                "transmit-1MiB",
                "05766d4a59bcd19418cac5c96eed21c583bf00f520006ad68218cf05ba3f8706",
            ),
            (
                "transmit-8MiB",
                "1186869b6f0c774e4def3a55c363c2c9dfa28851f962159cb1a963a8fecb3069",
            ),
            (
                "receive-128B",
                "09e30f581fc38eec3c12d4838f9e4982f705f6ba3ebc326684c6697d017d571a",
            ),
            (
                "receive-256B",
                "f3f2dedaad08da7af4ff48eba8548fe702c3ee5acdee9d8e4ef1dcb8acc744a6",
            ),
            (
                "receive-512B",
                "28c02218d1ede3dda04a89a1a6fc1bd28171f95cfcdc587b162f331b52b1f1e7",
            ),
            (
                "receive-1KiB",
                "98d3134b726a39abcee2e7ca8349ddc4d5c5b7888bd510f26f1ecb814df538e6",
            ),
            (
                "receive-2KiB",
                "6a1c8840546db19a462f7e4cd6978ec397379515a4e3680aa3b7393b2138e75f",
            ),
            (
                "receive-4KiB",
                "b2854bdf4de4537fd2121b3748ee498cc3cc04d966d95e19a4e31228fe93fa69",
            ),
            (
                "receive-8KiB",
                "fe08035ef5510d917f3f7fc1ab6be635955c7a6665c8e9a39fe5da7e7d91bd77",
            ),
            (
                "receive-16KiB",
                "a4a3b2cbe1d0a8cd069cda26f14bc92fd9e0b214ba864b6497ebe093562d1f6a",
            ),
            (
                "receive-32KiB",
                "304d7138247f111571695b9dc935fe240275ff07d63b1ce4348e02a69ec55600",
            ),
            (
                "receive-64KiB",
                "103944467f969bcb5d341a5204cf62e7d1ed8feba3abeda49c3d130e3d3d1c74",
            ),
            (
                "receive-128KiB",
                "f94e6da0cd13baf142a3f8b2f21ec03d5af5ae45201a6f1ddf643ee2c0c5c73b",
            ),
            (
                "receive-256KiB",
                "296ab4191db79bff383471eb2843a9d6e01c5673ce05ba5376ffa14832d5119b",
            ),
            (
                "receive-1MiB",
                "3ca5f35fd5a45967b9023207842e670903d6769c6f9e20e61334b12428ca97bb",
            ),
            (
                "receive-8MiB",
                "97f32e02d13554afa653300ad06fe5faa0b618bcba7ac5ff53d02a3b403a1c12",
            ),
            (
                "duplex-128B",
                "f41f5ef0692e6264b3d11b92b6c7b9845060d00852abb16f52379727f433597b",
            ),
            (
                "duplex-256B",
                "70af2883669e5388dd89f050e252a030259aa978293f05f786c541f8bc811e15",
            ),
            (
                "duplex-512B",
                "c991455857fab0290c7d16fc6f7079f8c4d50a874a800279fe7632d881bfbdf8",
            ),
            (
                "duplex-1KiB",
                "fc677c24eca9814d8029955f905396cf8ba17d6dd2553105dac7fdc6e941d77d",
            ),
            (
                "duplex-2KiB",
                "bdbba194823faa8f096560c3e2956bf637daef23d4dc3507f5fe33edf46e4f4f",
            ),
            (
                "duplex-4KiB",
                "86f8a4eb573f4b7a67c3f6825dd8f09f1cda0c119d556d87ef6aea04ececa16c",
            ),
            (
                "duplex-8KiB",
                "449a6578e492e87a7e7a528d86b4262ff0de76c644270fc6617ae32041cf6aa1",
            ),
            (
                "duplex-16KiB",
                "e5e8231739a5f03404d28e77bfc8b0cabdd9fff46b6e983af68d3ddcd87c9bee",
            ),
            (
                "duplex-32KiB",
                "2701d992838e7b7601b604f321f661a59bf5b0b8f66b4052e814d37dcbee2409",
            ),
            (
                "duplex-64KiB",
                "6cc86ba8c87c5f4fe9daf9b9acbefa774b47af110b52aab374e38d4818b72e1f",
            ),
            (
                "duplex-128KiB",
                "205c08c3427157056da52f211d676788674c96da2f02de617b868e699d7e8d1b",
            ),
            (
                "duplex-256KiB",
                "cd03c63e52de271a9bd8ccc5a26f26a18bbb6816761c0e9438ce32cbb00ab4f1",
            ),
            (
                "duplex-1MiB",
                "791519351a000af729369b0797a2a265a9b4130227262f9ca994f83d7b7c3f38",
            ),
            (
                "duplex-8MiB",
                "35a0e8f29e6e31642aeaff490dfceca8b17544886dc60d9e0d5004fa07799e04",
            ),
            (
                "file-server",
                "20414d112a9d92cbde2a53e59890b54010e65871e35bad4b40ce000f2fd3b2ed",
            ),
            (
                "web-server",
                "6fee10f6715889f1ae09c23fa2de3076e309539295ba3bcd3e46ca950b5b998b",
            ),
        ],
    ),
    (
        "curve",
        &[(
            "file-server",
            "76f7339e385a928ab60d87b375ba1b56e6649b06a6b4112502a7ce4e77e0f95c",
        )],
    ),
    (
        "dir-leases",
        &[
            (
                "browse",
                "6f15ee97358cdbe117f9a24e7a89326e64e4f49d084bc80689a1190bd712b5b0",
            ),
            (
                "browse-changing",
                "f58c6c1dd34969878bf9393846fcb42273ea68b872eebedcabc4c8068d0423bf",
            ),
        ],
    ),
    (
        "failover",
        &[(
            "file-server",
            "6dacc6f8d0eadfd6c7ef297d8e45e997a496ebe258e6befcfe24dce011bb1fbd",
        )],
    ),
    (
        "folders",
        &[
            (
                "list",
                "f090b80c66b09874f55e8ccab329630a9841f213b217c2a5b966136f5bedb462",
            ),
            (
                "stat",
                "84c6fb5cd235dd72e7d43f50b4b0cb1b98822b2de7bd09a03bdc4a07f553389e",
            ),
            (
                "browse",
                "3384241de379d1e6c702b71a4cd52ac461c3d26e27daac23a5af53a74f8dfd1d",
            ),
            (
                "finder-browse",
                "44072870e1e14e9a57ac51318a8aba7ac6f01c06990e4d39fec533c31a35172c",
            ),
            (
                "walk",
                "24a8217b7b5cc87e5cef19dc93c5088f42bb10cdbdb08b774cc42425c6e6b5fd",
            ),
            (
                "untar",
                "8ba9f4dc83d47a3ddbad823c2fa6d94e9168d7758a81cbd1d889823fc4b4d389",
            ),
            (
                "office-save",
                "7a78d446131834f02d370ad0837bc0183ac584dbca3a55f3595619c2ee35d506",
            ),
            (
                "notify-fanout",
                "3ba50fa98afca5d3233a82281cd7cedabc2ff2de82db5707b9606443cf9487cb",
            ),
        ],
    ),
    (
        "limits-2005",
        &[
            (
                "plain sessions",
                "16c988f1dad96edfa9d3b1cc8e4a61142ab2d65ae5ca19d355514c53a55aa293",
            ),
            (
                "signed sessions",
                "093d45cd65c96a2d76ec0e53e7ea1cb6d69f3b798a0a6559d92d02ab054a6f95",
            ),
            (
                "encrypted sessions",
                "b90865f13d4921bd181936e76ebd75255be26f70c2a36d2d5ef27550a7dca7ff",
            ),
            (
                "plain log-ons",
                "42fddb7355316ce9f8a93f74f821ec82a9007af8de7acef85facdf6129a0e3e1",
            ),
            (
                "signed log-ons",
                "f83dcca0a287fa7d42aa16d2509823b5f2970ed427e6e893b35d9bc94f69d80e",
            ),
            (
                "encrypted log-ons",
                "82fdaa6fea27794b44e37499b6ef0824b1440447adaea58bd26089d41f85a063",
            ),
        ],
    ),
    (
        "listings",
        &[
            (
                "list-100",
                "2ad20846ddd991deebe3f9aec7d648e1a906931c5fb2187538abdb3104afdc94",
            ),
            (
                "list-1000",
                "5e3aeec3c8ac324e04334aecfdbe1dc7a7db4a731855827abe38671f7e998765",
            ),
            (
                "list-10000",
                "9f613d73d2e6c0c2b7db53ade4f5eb06a2d3b40b748e495d3ca8886b5b6494eb",
            ),
            (
                "list-100000",
                "c16cc4f648a81942a9604d5176a21489bdb74703ec606c4ca6ef583dfb6b7c08",
            ),
        ],
    ),
    (
        "signing-cost",
        &[(
            "file-server",
            "87d25ea84c2a184107ef07db82bd843cc40d870784ce536400c1b7c53aa8df3a",
        )],
    ),
    (
        "veritest-2003",
        &[(
            "netbench-like",
            "095d884a49c16c1bb5b1e2ae94863265029f715397578143bab36ad375016509",
        )],
    ),
    (
        "veritest-2004",
        &[(
            "netbench-like",
            "095d884a49c16c1bb5b1e2ae94863265029f715397578143bab36ad375016509",
        )],
    ),
];

#[derive(Debug, Parser)]
struct RunLine {
    #[command(flatten)]
    args: RunArgs,
}

/// The digest of each profile of a suite, on one server under its first setting.
fn digests_of_suite(name: &str) -> Vec<(String, String)> {
    let suite = resolved(name, &["--server=nas=smb://ann@nas/bench"]).unwrap();
    let digest = |plans: &Vec<Plan>| {
        let plan = plans.first().unwrap();
        let same = plans.iter().all(|other| other.digest() == plan.digest());
        // A digest has what sessions ask for.
        assert!(
            same || ["dir-leases", "failover", "signing-cost"].contains(&name),
            "{name}, {}: one digest on all servers",
            plan.work.profile
        );
        (plan.work.profile.clone(), plan.digest())
    };
    suite.plans.iter().map(digest).collect()
}

#[test]
fn digests_of_built_in_profiles_are_what_they_were() {
    let digest = |(name, _): &(&str, &str)| {
        let args = RunLine::parse_from(["run", "--profile", name]).args;
        let requests = requests::resolve_all(&args).unwrap();
        ((*name).to_owned(), requests[0].draft.digest())
    };
    let found: Vec<_> = profile::BUILTIN.iter().map(digest).collect();
    let frozen = PROFILES.map(|(name, digest)| (name.to_owned(), digest.to_owned()));
    assert_eq!(found, frozen);
}

#[test]
fn digests_of_built_in_suites_are_what_they_were() {
    let found: Vec<_> = BUILTIN
        .iter()
        .map(|(name, _)| ((*name).to_owned(), digests_of_suite(name)))
        .collect();
    let frozen = SUITES.map(|(name, profiles)| {
        let own = |(profile, digest): &(&str, &str)| ((*profile).to_owned(), (*digest).to_owned());
        (
            name.to_owned(),
            profiles.iter().map(own).collect::<Vec<_>>(),
        )
    });
    assert_eq!(found, frozen);
}
